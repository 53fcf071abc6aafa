package headrace;

import java.util.ArrayList;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.AttributeSet$;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** Brings rows to the parts of an index, where each looks its key up. What is there is asked for when it is run. */
public final class ProbingExec extends SparkPlan {
    private final Seq keys;
    private final transient Segments index;  // tasks may hold the plan, and not this
    private final Asked asked;
    private final Seq found;
    private final SparkPlan child;

    public ProbingExec(Seq keys, Segments index, Asked asked, Seq found, SparkPlan child) {
        this.keys = keys;
        this.index = index;
        this.asked = asked;
        this.found = found;
        this.child = child;
    }

    public RDD doExecute() {
        return index.probed(child.execute(), keys, child.output(), found, asked);
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

    public SparkPlan withNewChildrenInternal(IndexedSeq made) {
        return new ProbingExec(keys, index, asked, found, (SparkPlan) made.apply(0));
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
        return other instanceof ProbingExec;
    }

    public boolean equals(Object other) {
        if (!(other instanceof ProbingExec)) {
            return false;
        }
        for (int i = 0; i < productArity(); i++) {
            if (!productElement(i).equals(((ProbingExec) other).productElement(i))) {
                return false;
            }
        }
        return true;
    }

    public int hashCode() {
        return 31 * keys.hashCode() + child.hashCode();
    }
}
