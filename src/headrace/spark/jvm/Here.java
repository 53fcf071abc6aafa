package headrace;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.MemoryManager;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.storage.BlockManager;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.math.BigDecimal;
import scala.runtime.AbstractFunction0;

/**
 * The rows of a plan with a single partition and no shuffle, computed in the thread that asks.
 *
 * A job of one task costs several times what a small task does: the plan is written down for the task and read again,
 * and its rows come back through the result server. Here the task's work is done as Spark's executor would do it, with
 * a task's memory and settings, and none of its travel. Compiled by Janino, which knows no lambdas.
 */
public final class Here {
    // Spark counts its tasks from 0, and has -1024 for itself. Every Python process of a JVM has a class like this one,
    // and each begins somewhere else.
    private static final AtomicLong LAST = new AtomicLong((1L << 62) | (new SecureRandom().nextLong() >>> 3));

    private Here() {
    }

    /** The rows; null where a plan is not of that kind. */
    public static InternalRow[] rows(SparkPlan plan) {
        if (runsPython(plan)) {
            return null;
        }
        final RDD rdd = plan.execute();
        if (rdd.partitions().length != 1 || shuffles(rdd, new HashSet())) {
            return null;
        }
        Properties properties = (Properties) rdd.sparkContext().getLocalProperties().clone();
        long number = LAST.incrementAndGet();
        Object blocks = part("blockManager", BlockManager.class);
        MemoryManager all = (MemoryManager) part("memoryManager", MemoryManager.class);
        TaskMemoryManager memory = new TaskMemoryManager(all, number);
        final TaskContextImpl task = new TaskContextImpl(
            0, 0, 0, number, 0, 1, memory, properties, null, new TaskMetrics(),
            BigDecimal.valueOf(1L), (scala.collection.immutable.Map) Map$.MODULE$.empty());
        called(blocks, BlockManager.class, "registerTask", Void.TYPE, Long.valueOf(number));
        try {
            return (InternalRow[]) TaskContext.withTaskContext(task, new AbstractFunction0() {
                public Object apply() {
                    return drained(rdd, task);
                }
            });
        } finally {
            memory.cleanUpAllAllocatedMemory();
            called(blocks, BlockManager.class, "releaseAllLocksForTask", Seq.class, Long.valueOf(number));
        }
    }

    /** A part of Spark's environment, which names classes that are nowhere: its list of methods cannot be read. */
    private static Object part(String name, Class type) {
        return called(called(null, SparkEnv.class, "get", SparkEnv.class, null), SparkEnv.class, name, type, null);
    }

    private static Object called(Object target, Class owner, String name, Class gives, Long number) {
        try {
            MethodType type = number == null
                ? MethodType.methodType(gives) : MethodType.methodType(gives, Long.TYPE);
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            MethodHandle method = target == null
                ? lookup.findStatic(owner, name, type) : lookup.findVirtual(owner, name, type);
            ArrayList given = new ArrayList();
            if (target != null) {
                given.add(target);
            }
            if (number != null) {
                given.add(number);
            }
            return method.invokeWithArguments(given);
        } catch (Throwable problem) {
            throw new IllegalStateException(problem);
        }
    }

    private static InternalRow[] drained(RDD rdd, TaskContextImpl task) {
        ArrayList found = new ArrayList();
        try {
            Iterator rows = rdd.iterator(rdd.partitions()[0], task);
            while (rows.hasNext()) {
                found.add(((InternalRow) rows.next()).copy());
            }
        } catch (RuntimeException problem) {
            task.markTaskFailed(problem);
            task.markTaskCompleted(Option.apply(problem));
            throw problem;
        }
        task.markTaskCompleted(Option.empty());
        return (InternalRow[]) found.toArray(new InternalRow[found.size()]);
    }

    private static boolean shuffles(RDD rdd, Set seen) {
        if (!seen.add(Integer.valueOf(rdd.id()))) {
            return false;
        }
        Iterator each = rdd.dependencies().iterator();
        while (each.hasNext()) {
            org.apache.spark.Dependency on = (org.apache.spark.Dependency) each.next();
            if (on instanceof ShuffleDependency || shuffles(on.rdd(), seen)) {
                return true;
            }
        }
        return false;
    }

    private static boolean runsPython(SparkPlan plan) {
        if (plan.getClass().getName().indexOf("python") >= 0) {
            return true;
        }
        Iterator each = plan.children().iterator();
        while (each.hasNext()) {
            if (runsPython((SparkPlan) each.next())) {
                return true;
            }
        }
        return false;
    }
}
