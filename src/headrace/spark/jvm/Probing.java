package headrace;

import java.util.ArrayList;

import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.AttributeSet$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.execution.SparkPlan;
import scala.Option;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.math.BigInt;

/** Each row of a plan with the rows of an index in executors that have its key: a join by looking up. */
public final class Probing extends LogicalPlan {
    private final Seq keys;
    private final transient Segments index;  // tasks may hold the plan, and not this
    private final Asked asked;
    private final Seq found;
    private final LogicalPlan child;

    public Probing(Seq keys, Segments index, Asked asked, Seq found, LogicalPlan child) {
        this.keys = keys;
        this.index = index;
        this.asked = asked;
        this.found = found;
        this.child = child;
    }

    /** How it is done, over the child as it is done. */
    public SparkPlan planned(SparkPlan below) {
        return new ProbingExec(keys, index, asked, found, below);
    }

    public LogicalPlan child() {
        return child;
    }

    /** As large as the index makes it: what Spark takes to be small it copies to all executors. */
    public Statistics stats() {
        long each = 1 + index.records() / Math.max(index.distinct(), 1);
        long wider = 1 + found.size() / Math.max(child.output().size(), 1);
        BigInt size = child.stats().sizeInBytes().$times(BigInt.apply(each * wider));
        return new Statistics(size, Option.empty(), Statistics.apply$default$3(), false);
    }

    public Seq output() {
        return (Seq) child.output().appendedAll(found);
    }

    public AttributeSet producedAttributes() {
        return AttributeSet$.MODULE$.apply(found);
    }

    public Seq children() {
        ArrayList one = new ArrayList();
        one.add(child);
        return scala.jdk.javaapi.CollectionConverters.asScala(one.iterator()).toSeq();
    }

    public LogicalPlan withNewChildrenInternal(IndexedSeq made) {
        return new Probing(keys, index, asked, found, (LogicalPlan) made.apply(0));
    }

    public int productArity() {
        return 5;
    }

    public Object productElement(int i) {
        switch (i) {
            case 0: return keys;
            case 1: return index;
            case 2: return asked;
            case 3: return found;
            default: return child;
        }
    }

    public boolean canEqual(Object other) {
        return other instanceof Probing;
    }

    public boolean equals(Object other) {
        if (!(other instanceof Probing)) {
            return false;
        }
        for (int i = 0; i < productArity(); i++) {
            if (!productElement(i).equals(((Probing) other).productElement(i))) {
                return false;
            }
        }
        return true;
    }

    public int hashCode() {
        return 31 * keys.hashCode() + child.hashCode();
    }
}
