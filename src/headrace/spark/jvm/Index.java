package headrace;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The rows of a relation by key, in the memory of one process, and what a run that has not ended adds to them.
 *
 * Tasks know an index by its number. The old version is what is settled; the new one has what is pending besides.
 */
public final class Index {
    public static final int TABLES = 16;
    private static final ConcurrentHashMap ALL = new ConcurrentHashMap();
    private static final AtomicLong LAST = new AtomicLong();

    public static final String FULL = "Headrace: an index in memory is larger than it may be";
    public static final String GONE = "Headrace: an index in memory was released while it was read";

    public final long number;
    private volatile long limit;
    public final int keys;
    public final int columns;
    public RowTable[] settled = tables();
    public RowTable[] pending = null;

    public Index(int keys, int columns, long limit) {
        this.limit = limit;
        this.keys = keys;
        this.columns = columns;
        this.number = LAST.incrementAndGet();
        ALL.put(Long.valueOf(number), this);
    }

    /** An index by its number; one that was released is an error, for rows would be missing. */
    public static Index of(long number) {
        Index found = (Index) ALL.get(Long.valueOf(number));
        if (found == null) {
            throw new IllegalStateException(GONE);
        }
        return found;
    }

    /** Where the settled rows with a hash are. A plan that is run again may know an index that is gone. */
    public RowTable table(int hash) {
        RowTable[] tables = settled;
        if (tables.length == 0) {
            throw new IllegalStateException(GONE);
        }
        return tables[hash & (TABLES - 1)];
    }

    private static RowTable[] tables() {
        RowTable[] made = new RowTable[TABLES];
        for (int i = 0; i < TABLES; i++) {
            made[i] = new RowTable();
        }
        return made;
    }

    public void put(int hash, Packed key, Packed rest, long weight, boolean pends) {
        RowTable[] tables = pends ? pending : settled;
        tables[hash & (TABLES - 1)].add(key, rest, hash, weight);
    }

    /** Refuse to take more than a limit. It is asked once in a while. */
    public void check() {
        if (full()) {
            throw new IllegalStateException(FULL);
        }
    }

    /** Begin to take in what a run adds, up to a limit for all that is there then. */
    public void begin(long limit) {
        this.limit = limit;
        pending = tables();
    }

    /** Whether there is more than there may be. */
    public boolean full() {
        return bytes() > limit;
    }

    /** Take in what was pending. False where a row that should leave is not there, byte for byte. */
    public boolean settle() {
        boolean found = true;
        if (pending != null) {
            for (int i = 0; i < TABLES; i++) {
                found = pending[i].pour(settled[i], keys, columns) && found;
            }
            pending = null;
        }
        return found;
    }

    /** Forget what was pending. */
    public void forget() {
        pending = null;
    }

    public void release() {
        ALL.remove(Long.valueOf(number));
        settled = new RowTable[0];
        pending = null;
    }

    public long bytes() {
        long sum = 0;
        for (int i = 0; i < settled.length; i++) {
            sum += settled[i].bytes();
            sum += pending == null ? 0 : pending[i].bytes();
        }
        return sum;
    }

    /** The number of different keys. */
    public long distinct() {
        long sum = 0;
        for (int i = 0; i < settled.length; i++) {
            sum += settled[i].keys();
        }
        return sum;
    }

    public long records() {
        long sum = 0;
        for (int i = 0; i < settled.length; i++) {
            sum += settled[i].records();
        }
        return sum;
    }
}
