package headrace;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

import org.apache.spark.SparkEnv;
import org.apache.spark.memory.MemoryManager;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.storage.BroadcastBlockId;

/** What Spark knows to be taken of its memory for storage. */
public final class Storage {
    private final MemoryManager manager;

    /** Of the Spark that is there now. Its environment names classes that are nowhere, so it is asked by name. */
    public Storage() throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        Object spark = lookup.findStatic(SparkEnv.class, "get", MethodType.methodType(SparkEnv.class))
            .invokeWithArguments(new Object[0]);
        manager = (MemoryManager) lookup.findVirtual(
            SparkEnv.class, "memoryManager", MethodType.methodType(MemoryManager.class))
            .invokeWithArguments(new Object[] {spark});
    }

    /** Take some bytes; false where Spark has no room for them. */
    public boolean take(long bytes) {
        return manager.acquireStorageMemory(new BroadcastBlockId(0L, "headrace"), bytes, MemoryMode.ON_HEAP);
    }

    public void give(long bytes) {
        manager.releaseStorageMemory(bytes, MemoryMode.ON_HEAP);
    }

    /** All that is taken, by whomever. */
    public long used() {
        return manager.storageMemoryUsed();
    }
}
