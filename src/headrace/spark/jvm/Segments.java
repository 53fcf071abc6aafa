package headrace;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.storage.StorageLevel;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction2;

/**
 * The rows of a relation by key, in the memory of executors: Segments, each a persisted RDD with the same number of
 * parts, and what a run that has not ended adds to them.
 *
 * No Segment ever changes. The old version is what is settled; the new one has what is pending besides. Rows that have
 * left are records of negative weight in a later Segment. Settled Segments together have no row of negative weight.
 */
public final class Segments {
    private static final ClassTag ANY = ClassTag$.MODULE$.AnyRef();
    private static final int MANY = 8;              // later Segments, each of which is looked at for every key
    private static final long MUCH = 1L << 20;      // bytes of theirs that are worth a job of their own
    private static final int UNEVEN = 4;            // times the mean that a part may have

    public final int keys;
    public final int columns;
    public final int parts;
    private volatile long limit;
    private List settled = new ArrayList();
    private Segment pending = null;
    private boolean gone = false;
    private long records = 0;
    private long distinct = 0;

    public Segments(int keys, int columns, int parts, long limit) {
        this.keys = keys;
        this.columns = columns;
        this.parts = parts;
        this.limit = limit;
    }

    /** Put the rows of each plan into its index, in one job: as its first Segment, or as what is pending. */
    public static void fill(SparkSession session, List plans, List indexes, List weighted, boolean pends) {
        List made = new ArrayList();
        RDD all = null;
        boolean done = false;
        try {
            for (int i = 0; i < plans.size(); i++) {
                LogicalPlan plan = (LogicalPlan) plans.get(i);
                plan.setAnalyzed();
                QueryExecution planned = Dataset.ofRows(session, plan).queryExecution();
                Segments index = (Segments) indexes.get(i);
                Segment segment = index.gathered(
                    planned.toRdd(), planned.analyzed().output(), ((Boolean) weighted.get(i)).booleanValue());
                made.add(segment);
                RDD told = index.told(i, index.settled, segment);
                all = all == null ? told : all.union(told);
            }
            if (all != null) {
                tell(all, made);
            }
            for (int i = 0; i < made.size(); i++) {
                Segment segment = (Segment) made.get(i);
                if (!segment.full && !segment.there()) {
                    segment.rdd.count();  // an executor was lost on the way, or has no room
                }
                if (segment.full || !segment.there() || ((Segments) indexes.get(i)).exceeded(segment)) {
                    ((Segments) indexes.get(i)).limit = -1;  // of several, this is the one
                    throw new IllegalStateException(Index.FULL);
                }
            }
            done = true;
        } finally {
            for (int i = 0; i < made.size(); i++) {
                Segment segment = (Segment) made.get(i);
                if (done) {
                    ((Segments) indexes.get(i)).take(segment, pends);
                } else {
                    segment.release();
                }
            }
        }
    }

    private Segment gathered(RDD rows, Seq input, boolean weighted) {
        RDD routed = Routing.shuffled(rows, Gather.columns(input, 0, keys), input, parts);
        long most = Math.min(limit, Math.max(limit / parts, 1) * UNEVEN);
        Gather gather = new Gather(input, keys, columns, weighted, most);
        return new Segment(routed.mapPartitionsWithIndex(gather, false, ANY), parts);
    }

    private RDD told(int number, List before, Segment segment) {
        List all = new ArrayList(before);
        all.add(segment);
        return zipped(all).mapPartitions(new Tally(number, keys, columns, marks(before)), false, ANY);
    }

    /** Run a job that makes Segments, and let each know what was told of it. */
    private static void tell(RDD job, List segments) {
        Object[] told = (Object[]) job.collect();
        for (int i = 0; i < told.length; i++) {
            long[] one = (long[]) told[i];
            ((Segment) segments.get((int) one[Tally.SEGMENT])).add(one);
        }
    }

    private boolean exceeded(Segment segment) {
        return bytes() + segment.bytes > limit;
    }

    private void take(Segment segment, boolean pends) {
        if (!pends) {
            settled.add(segment);
            records = segment.rows;
            distinct = segment.keys;
        } else if (segment.empty()) {
            segment.release();
        } else {
            pending = segment;
        }
    }

    /** The parts of some Segments: with each number, one part of each. */
    private static RDD zipped(List segments) {
        RDD found = ((Segment) segments.get(0)).rdd;
        for (int i = 1; i < segments.size(); i++) {
            // The first one first: a task goes to where the first that is found in memory is.
            found = found.zipPartitions(((Segment) segments.get(i)).rdd, false, new Both(), ANY, ANY);
        }
        return found;
    }

    private static long[][] marks(List segments) {
        long[][] found = new long[segments.size()][];
        for (int i = 0; i < found.length; i++) {
            found[i] = ((Segment) segments.get(i)).marks;
        }
        return found;
    }

    /** Each of some rows, with these attributes, with what is found under its key. */
    public RDD probed(RDD rows, Seq on, Seq input, Seq found, Asked asked) {
        List used = new ArrayList(settled);
        if (gone) {
            throw new IllegalStateException(Index.GONE);
        }
        if (asked.newer && pending != null) {
            used.add(pending);
        }
        ProbePart probe = new ProbePart(on, input, found, settled.size(), columns, marks(used), asked);
        return zipped(used).zipPartitions(Routing.shuffled(rows, on, input, parts), false, probe, ANY, ANY);
    }

    /** Begin to take in what a run adds, up to a limit for all that is there then. */
    public void begin(long limit) {
        forget();
        this.limit = limit;
    }

    /** Whether there is more than there may be. */
    public boolean full() {
        return bytes() > limit;
    }

    /** Whether all of it is in memory. */
    public boolean there() {
        boolean all = !gone;
        for (int i = 0; i < settled.size(); i++) {
            all = all && ((Segment) settled.get(i)).there();
        }
        return all;
    }

    /** Take in what was pending. False where a row that should leave is not there, byte for byte, or a part is lost. */
    public boolean settle() {
        if (pending == null) {
            return true;
        }
        Segment segment = pending;
        pending = null;
        settled.add(segment);
        records += segment.rows;
        distinct += segment.keys;
        return segment.lacking == 0 && compacted();
    }

    /** Make one Segment of many; the first is part of it when the others are not small beside it. */
    private boolean compacted() {
        long base = ((Segment) settled.get(0)).bytes;
        long later = bytes() - base;
        boolean large = later > base / 2;
        if (settled.size() - 1 <= MANY && !(large && later > MUCH)) {
            return true;
        }
        List some = settled.subList(large ? 0 : 1, settled.size());
        Merge merge = new Merge(keys, columns, marks(some));
        Segment made = new Segment(zipped(some).mapPartitionsWithIndex(merge, false, ANY), parts);
        made.rdd.localCheckpoint();  // or what every Segment was made from would be remembered for ever
        boolean done = false;
        try {
            List one = new ArrayList();
            one.add(made);
            tell(told(0, new ArrayList(), made), one);
            done = made.there() && !(large && made.lacking > 0);
        } catch (Exception problem) {
            return false;  // something is lost
        } finally {
            if (!done) {
                made.release();
            }
        }
        if (done) {
            List kept = new ArrayList();
            for (int i = 0; i < settled.size(); i++) {
                if (large || i > 0) {
                    ((Segment) settled.get(i)).release();
                } else {
                    kept.add(settled.get(i));
                }
            }
            if (!made.empty() || kept.isEmpty()) {
                kept.add(made);
            } else {
                made.release();
            }
            settled = kept;
        }
        return done;
    }

    /** The Segments as Spark knows them, what is pending not among them. */
    public List rdds() {
        List found = new ArrayList();
        for (int i = 0; i < settled.size(); i++) {
            found.add(((Segment) settled.get(i)).rdd);
        }
        return found;
    }

    /** Forget what was pending. */
    public void forget() {
        if (pending != null) {
            pending.release();
            pending = null;
        }
    }

    public void release() {
        forget();
        for (int i = 0; i < settled.size(); i++) {
            ((Segment) settled.get(i)).release();
        }
        settled = new ArrayList();
        gone = true;
        records = distinct = 0;
    }

    public long bytes() {
        long sum = pending == null ? 0 : pending.bytes;
        for (int i = 0; i < settled.size(); i++) {
            sum += ((Segment) settled.get(i)).bytes;
        }
        return sum;
    }

    /** The number of different keys. */
    public long distinct() {
        return distinct;
    }

    public long records() {
        return records;
    }

    public String toString() {
        return "index of " + records + " rows in " + parts + " parts";
    }

    /** One RDD of parts, and what was told of them when it was made. */
    private static final class Segment {
        final RDD rdd;
        final long[] marks;
        long bytes = 0;
        long rows = 0;
        long keys = 0;
        long lacking = 0;
        boolean full = false;

        Segment(RDD rdd, int parts) {
            this.rdd = rdd.persist(StorageLevel.MEMORY_ONLY());
            this.marks = new long[parts];
        }

        void add(long[] told) {
            marks[(int) told[Tally.PART]] = told[Tally.MARK];
            bytes += told[Tally.BYTES];
            rows += told[Tally.ROWS];
            keys += told[Tally.KEYS];
            lacking += told[Tally.LACKING];
            full = full || told[Tally.FULL] > 0;
        }

        boolean empty() {
            for (int i = 0; i < marks.length; i++) {
                if (marks[i] != 0) {
                    return false;
                }
            }
            return true;
        }

        boolean there() {
            try {
                return Executors.hold(rdd, marks.length);
            } catch (Throwable problem) {
                throw new IllegalStateException(problem);
            }
        }

        void release() {
            rdd.unpersist(false);
        }
    }

    /** The elements of one iterator, and then those of another. */
    private static final class Both extends AbstractFunction2 implements java.io.Serializable {
        public Object apply(Object first, final Object second) {
            return ((Iterator) first).concat(new AbstractFunction0() {
                public Object apply() {
                    return second;
                }
            });
        }
    }
}
