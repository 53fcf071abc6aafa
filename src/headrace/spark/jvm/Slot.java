package headrace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;

import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.math.BigInt;
import scala.reflect.ClassTag$;

/**
 * A leaf whose rows are put into it: they change from run to run, while plans over it stay as they are.
 *
 * It is read in the driver alone. Where a plan is given to tasks after all, {@link #plain} puts the rows themselves in
 * its place. Compiled by Janino, which knows no lambdas.
 */
public final class Slot extends RDD {
    // Spark shuffles what it takes to be large even where all of it is in one partition.
    private static final Statistics LITTLE =
        new Statistics(BigInt.apply(1), Option.empty(), Statistics.apply$default$3(), false);

    private transient Object[] parts = new Object[0];
    private transient Map relations = new HashMap();

    public Slot(SparkSession session) {
        super(session.sparkContext(), (Seq) Nil$.MODULE$, ClassTag$.MODULE$.apply(InternalRow.class));
    }

    /** Take arrays of rows, all with the same columns. */
    public void set(Object[] given) {
        parts = given;
    }

    public void put(InternalRow[] rows) {
        parts = new Object[] {rows};
    }

    public void clear() {
        parts = new Object[0];
    }

    /** The rows as a relation with these attributes; for equal ones it is the same every time. */
    public LogicalPlan relation(SparkSession session, Seq output) {
        Object found = relations.get(output);
        if (found == null) {
            found = new LogicalRDD(
                output, this, SinglePartition$.MODULE$, (Seq) Nil$.MODULE$, false, Option.empty(), session,
                Option.apply(LITTLE), Option.empty(), false);
            relations.put(output, found);
        }
        return (LogicalPlan) found;
    }

    public Partition[] getPartitions() {
        return new Partition[] {new Whole()};
    }

    public Iterator compute(Partition part, TaskContext task) {
        return scala.jdk.javaapi.CollectionConverters.asScala(new Each(parts));
    }

    /** The same plan with the rows of slots themselves in the place of slots. */
    public static LogicalPlan plain(LogicalPlan plan) {
        if (plan instanceof LogicalRDD && ((LogicalRDD) plan).rdd() instanceof Slot) {
            Slot slot = (Slot) ((LogicalRDD) plan).rdd();
            Iterator rows = slot.compute(null, null);
            return new LocalRelation(plan.output(), rows.toSeq(), false, Option.empty());
        }
        ArrayList children = new ArrayList();
        boolean same = true;
        Iterator each = plan.children().iterator();
        while (each.hasNext()) {
            LogicalPlan child = (LogicalPlan) each.next();
            LogicalPlan made = plain(child);
            same = same && made == child;
            children.add(made);
        }
        if (same) {
            return plan;
        }
        return (LogicalPlan) plan.withNewChildren(
            scala.jdk.javaapi.CollectionConverters.asScala(children.iterator()).toSeq());
    }

    /** Whether all rows of a plan come from slots and constants, so that it can be run again over other rows. */
    public static boolean only(LogicalPlan plan) {
        if (plan.children().isEmpty()) {
            return plan instanceof LocalRelation || plan.getClass().getSimpleName().startsWith("OneRowRelation")
                || (plan instanceof LogicalRDD && ((LogicalRDD) plan).rdd() instanceof Slot);
        }
        Iterator each = plan.children().iterator();
        while (each.hasNext()) {
            if (!only((LogicalPlan) each.next())) {
                return false;
            }
        }
        return true;
    }

    private static final class Whole implements Partition {
        public int index() {
            return 0;
        }

        public boolean org$apache$spark$Partition$$super$equals(Object other) {
            return this == other;
        }

        public int hashCode() {
            return 0;
        }

        public boolean equals(Object other) {
            return other instanceof Whole;
        }
    }

    private static final class Each implements java.util.Iterator {
        private final Object[] parts;
        private int part = 0;
        private int place = 0;

        Each(Object[] parts) {
            this.parts = parts;
        }

        public boolean hasNext() {
            while (part < parts.length && place == ((InternalRow[]) parts[part]).length) {
                part++;
                place = 0;
            }
            return part < parts.length;
        }

        public Object next() {
            if (!hasNext()) {
                throw new java.util.NoSuchElementException();
            }
            return ((InternalRow[]) parts[part])[place++];
        }

        public void remove() {
            throw new UnsupportedOperationException();
        }
    }
}
