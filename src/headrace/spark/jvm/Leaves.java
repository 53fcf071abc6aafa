package headrace;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import scala.Product;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * The leaves of a plan, in subqueries and WITH too, and the same plan over others.
 *
 * Spark's own walk goes through children and through the plans inside expressions. What WITH defines is neither as
 * long as a plan is only parsed. One object serves one walk. Compiled by Janino, which knows no lambdas.
 */
public final class Leaves extends AbstractPartialFunction {
    private final List found = new ArrayList();
    private final Map others = new IdentityHashMap();

    /** All leaves. */
    public List of(LogicalPlan plan) {
        plan.transformDownWithSubqueries(this);
        return found;
    }

    /** The plan with each of some leaves replaced by the plan at its place in the second list. */
    public LogicalPlan over(LogicalPlan plan, List leaves, List plans) {
        for (int i = 0; i < leaves.size(); i++) {
            others.put(leaves.get(i), plans.get(i));
        }
        return (LogicalPlan) plan.transformDownWithSubqueries(this);
    }

    public boolean isDefinedAt(Object node) {
        return true;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
        LogicalPlan plan = (LogicalPlan) node;
        if (plan instanceof UnresolvedWith) {
            return with(plan);
        }
        if (!plan.children().isEmpty()) {
            return plan;
        }
        found.add(plan);
        Object other = others.get(plan);
        return other == null ? plan : other;
    }

    /** WITH holds what it defines as (name, plan, …). */
    private LogicalPlan with(LogicalPlan plan) {
        Object[] parts = parts((Product) plan);
        Seq defined = (Seq) parts[1];
        List changed = new ArrayList();
        for (int i = 0; i < defined.size(); i++) {
            Object[] entry = parts((Product) defined.apply(i));
            entry[1] = ((LogicalPlan) entry[1]).transformDownWithSubqueries(this);
            changed.add(entry.length == 2 ? new scala.Tuple2(entry[0], entry[1])
                : (Object) new scala.Tuple3(entry[0], entry[1], entry[2]));
        }
        parts[1] = scala.jdk.javaapi.CollectionConverters.asScala(changed).toSeq();
        return (LogicalPlan) plan.makeCopy(parts);
    }

    private static Object[] parts(Product product) {
        Object[] parts = new Object[product.productArity()];
        for (int i = 0; i < parts.length; i++) {
            parts[i] = product.productElement(i);
        }
        return parts;
    }
}
