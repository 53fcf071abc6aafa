package headrace;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

import org.apache.spark.SparkEnv;
import org.apache.spark.rdd.RDD;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BlockManagerMaster;
import org.apache.spark.storage.RDDBlockId;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** What Spark's driver knows of the memory of executors at this moment, and of what they hold. */
public final class Executors {
    private Executors() {
    }

    /** The bytes that all executors together have for storage; those of the driver where it is the only one. */
    public static long storage(boolean local) throws Throwable {
        long sum = 0;
        Iterator each = master().getMemoryStatus().iterator();
        while (each.hasNext()) {
            Tuple2 one = (Tuple2) each.next();
            if (local || !((BlockManagerId) one._1()).isDriver()) {
                sum += ((Number) ((Tuple2) one._2())._1()).longValue();
            }
        }
        return sum;
    }

    /** Whether some executor has each of the partitions of an RDD. */
    public static boolean hold(RDD rdd, int partitions) throws Throwable {
        BlockId[] blocks = new BlockId[partitions];
        for (int i = 0; i < partitions; i++) {
            blocks[i] = new RDDBlockId(rdd.id(), i);
        }
        IndexedSeq places = master().getLocations(blocks);
        for (int i = 0; i < partitions; i++) {
            if (((Seq) places.apply(i)).isEmpty()) {
                return false;
            }
        }
        return true;
    }

    /** Spark's environment names classes that are nowhere, so it is asked by name. */
    private static BlockManagerMaster master() throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        Object spark = lookup.findStatic(SparkEnv.class, "get", MethodType.methodType(SparkEnv.class))
            .invokeWithArguments(new Object[0]);
        Object blocks = lookup.findVirtual(SparkEnv.class, "blockManager", MethodType.methodType(BlockManager.class))
            .invokeWithArguments(new Object[] {spark});
        return (BlockManagerMaster) lookup.findVirtual(
            BlockManager.class, "master", MethodType.methodType(BlockManagerMaster.class))
            .invokeWithArguments(new Object[] {blocks});
    }
}
