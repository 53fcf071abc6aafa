package headrace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.LogicalRDD;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/**
 * The leaves of a plan that stand for sources, in its subqueries too, and the plan with others in their place.
 * Compiled by Janino, which knows no lambdas.
 */
public final class Leaves extends AbstractPartialFunction {
    private LogicalPlan plan;
    private String tag;
    private final Map found = new LinkedHashMap();
    private final Map others = new HashMap();

    /** The leaves of a plan whose first column has the tag. */
    public List find(LogicalPlan plan, String tag) {
        this.plan = plan;
        this.tag = tag;
        plan.transformUpWithSubqueries(this);
        return new ArrayList(found.values());
    }

    /** Another plan, with the same output, for a leaf. */
    public void put(LogicalPlan leaf, LogicalPlan other) {
        others.put(key(leaf), other);
    }

    public LogicalPlan replaced() {
        return (LogicalPlan) plan.transformUpWithSubqueries(this);
    }

    public boolean isDefinedAt(Object node) {
        if (!(node instanceof LogicalRDD) || ((LogicalRDD) node).output().isEmpty()) {
            return false;
        }
        return ((Attribute) ((LogicalRDD) node).output().head()).metadata().contains(tag);
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
        if (!isDefinedAt(node)) {
            return otherwise.apply(node);
        }
        Object key = key((LogicalPlan) node);
        found.put(key, node);
        return others.containsKey(key) ? others.get(key) : node;
    }

    private static Object key(LogicalPlan leaf) {
        return Long.valueOf(((Attribute) leaf.output().head()).exprId().id());
    }
}
