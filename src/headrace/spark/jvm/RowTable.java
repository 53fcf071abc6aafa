package headrace;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * Rows with weights by key: chains of records in pages of bytes, found through a table of their beginnings.
 * Compiled by Janino, as all classes here.
 *
 * A record is next (4 bytes), weight (4), size of its key (4), size of the rest (4), the key and the rest, both as
 * UnsafeRows. A place is a number of eight bytes, counted over all pages, plus one: zero is nowhere. A record that
 * has left stays in its page until the table is packed.
 */
public final class RowTable implements java.io.Serializable {
    private static final int PAGE = 20;  // bits of a page's size
    private static final int HEADER = 16;
    private static final long BASE = Platform.BYTE_ARRAY_OFFSET;

    private int[] heads = new int[16];
    private byte[][] pages = new byte[4][];
    private int used = 0;        // pages in use
    private int free = 0;        // where the next record goes in the last page
    private int records = 0;
    private int keys = 0;        // different ones
    private long wasted = 0;
    private long bytes = 0;      // of all pages
    private long content = 0;    // bytes of the records that are there

    public synchronized int records() {
        return records;
    }

    public synchronized int keys() {
        return keys;
    }

    /** The memory that the table takes. */
    public synchronized long bytes() {
        return bytes + 4L * heads.length + 8L * pages.length;
    }

    /** A number that tells a table from one that lacks some of its records, or has more. */
    public synchronized long mark() {
        return 31 * content + records;
    }

    public static int hash(UnsafeRow key) {
        return Murmur3_x86_32.hashUnsafeWords(key.getBaseObject(), key.getBaseOffset(), key.getSizeInBytes(), 42);
    }

    /** A record more, whatever is there. Tables that are settled have no weight but one. */
    public synchronized void add(UnsafeRow key, UnsafeRow rest, int hash, long weight) {
        if (weight != (int) weight) {
            throw new ArithmeticException("Headrace: a weight of " + weight + " in memory");
        }
        if (records >= heads.length - (heads.length >> 2)) {
            grow();
        }
        int size = HEADER + key.getSizeInBytes() + rest.getSizeInBytes();
        int place = room(size);
        byte[] page = pages[place >>> (PAGE - 3)];
        long at = BASE + ((long) (place & ((1 << (PAGE - 3)) - 1)) << 3);
        int slot = slot(hash);
        keys += seek(heads[slot], key) == 0 ? 1 : 0;
        Platform.putInt(page, at, heads[slot]);
        Platform.putInt(page, at + 4, (int) weight);
        Platform.putInt(page, at + 8, key.getSizeInBytes());
        Platform.putInt(page, at + 12, rest.getSizeInBytes());
        key.writeToMemory(page, at + HEADER);
        rest.writeToMemory(page, at + HEADER + key.getSizeInBytes());
        heads[slot] = place + 1;
        records++;
        content += size;
    }

    /** Remove one record that is equal in key and rest; false where there is none. */
    public synchronized boolean take(UnsafeRow key, UnsafeRow rest, int hash) {
        int slot = slot(hash);
        int before = 0;
        for (int place = heads[slot]; place != 0; place = next(place)) {
            if (weight(place) > 0 && holds(place, key) && holdsRest(place, key.getSizeInBytes(), rest)) {
                if (before == 0) {
                    heads[slot] = next(place);
                } else {
                    Platform.putInt(page(before), at(before), next(place));
                }
                records--;
                keys -= seek(heads[slot], key) == 0 ? 1 : 0;
                wasted += HEADER + key.getSizeInBytes() + rest.getSizeInBytes();
                content -= HEADER + key.getSizeInBytes() + rest.getSizeInBytes();
                if (wasted > bytes / 2) {
                    pack();
                }
                return true;
            }
            before = place;
        }
        return false;
    }

    /** The first record with a key, zero for none. */
    public int find(UnsafeRow key, int hash) {
        return seek(heads[slot(hash)], key);
    }

    /** The next record with a key after one that has it. */
    public int after(int place, UnsafeRow key) {
        return seek(next(place), key);
    }

    private int seek(int place, UnsafeRow key) {
        while (place != 0 && !holds(place, key)) {
            place = next(place);
        }
        return place;
    }

    public int weight(int place) {
        return Platform.getInt(page(place), at(place) + 4);
    }

    /** Let a row stand for the rest of a record. */
    public void read(int place, UnsafeRow rest) {
        byte[] page = page(place);
        long at = at(place);
        int key = Platform.getInt(page, at + 8);
        rest.pointTo(page, at + HEADER + key, Platform.getInt(page, at + 12));
    }

    /** Let a row stand for the key of a record. */
    public void readKey(int place, UnsafeRow key) {
        key.pointTo(page(place), at(place) + HEADER, Platform.getInt(page(place), at(place) + 8));
    }

    /** Where all records can be found: chains, each a number of records one after the other. */
    public int chains() {
        return heads.length;
    }

    /** The first record of a chain, zero for none. */
    public int first(int chain) {
        return heads[chain];
    }

    /**
     * Bring all records into another table, which has no weights: a record comes as often as its weight says, or
     * that many equal ones leave. False where one that should leave is not there.
     */
    public boolean pour(RowTable other, int keys, int columns) {
        UnsafeRow key = new UnsafeRow(keys);
        UnsafeRow rest = new UnsafeRow(columns);
        boolean found = true;
        for (int i = 0; i < heads.length; i++) {
            for (int place = heads[i]; place != 0; place = next(place)) {
                byte[] page = page(place);
                long at = at(place);
                int size = Platform.getInt(page, at + 8);
                key.pointTo(page, at + HEADER, size);
                rest.pointTo(page, at + HEADER + size, Platform.getInt(page, at + 12));
                int hash = hash(key);
                int weight = Platform.getInt(page, at + 4);
                for (int n = 0; n < weight; n++) {
                    other.add(key, rest, hash, 1);
                }
                for (int n = 0; n > weight; n--) {
                    found = other.take(key, rest, hash) && found;
                }
            }
        }
        return found;
    }

    private boolean holds(int place, UnsafeRow key) {
        byte[] page = page(place);
        long at = at(place);
        int size = key.getSizeInBytes();
        return Platform.getInt(page, at + 8) == size
            && ByteArrayMethods.arrayEquals(page, at + HEADER, key.getBaseObject(), key.getBaseOffset(), size);
    }

    private boolean holdsRest(int place, int key, UnsafeRow rest) {
        byte[] page = page(place);
        long at = at(place);
        int size = rest.getSizeInBytes();
        return Platform.getInt(page, at + 12) == size && ByteArrayMethods.arrayEquals(
            page, at + HEADER + key, rest.getBaseObject(), rest.getBaseOffset(), size);
    }

    private int slot(int hash) {
        return (hash >>> 4) & (heads.length - 1);  // the lowest bits choose the table
    }

    /** The next record of a chain, zero for none. */
    public int next(int place) {
        return Platform.getInt(page(place), at(place));
    }

    private byte[] page(int place) {
        return pages[(place - 1) >>> (PAGE - 3)];
    }

    private static long at(int place) {
        return BASE + ((long) ((place - 1) & ((1 << (PAGE - 3)) - 1)) << 3);
    }

    /** A place for a record. One that is larger than a page gets a page of its own. */
    private int room(int size) {
        if (used == 0 || free + size > pages[used - 1].length) {
            if (used == (1 << (31 - (PAGE - 3))) - 1) {
                throw new IllegalStateException("Headrace: a table in memory is full");
            }
            if (used == pages.length) {
                pages = (byte[][]) java.util.Arrays.copyOf(pages, 2 * used);
            }
            long share = Math.min(Math.max(bytes / 4, 1 << 10), 1 << PAGE) & ~7L;  // a quarter of what is there
            int length = Math.max(size, (int) share);
            pages[used++] = new byte[length];
            bytes += length;
            free = 0;
        }
        int place = ((used - 1) << (PAGE - 3)) + (free >>> 3);
        free += size;
        return place;
    }

    private void grow() {
        int[] old = heads;
        heads = new int[2 * old.length];
        for (int i = 0; i < old.length; i++) {
            int place = old[i];
            while (place != 0) {
                int follower = next(place);
                byte[] page = page(place);
                long at = at(place);
                int slot = slot(Murmur3_x86_32.hashUnsafeWords(page, at + HEADER, Platform.getInt(page, at + 8), 42));
                Platform.putInt(page, at, heads[slot]);
                heads[slot] = place;
                place = follower;
            }
        }
    }

    /** Copy what is live into new pages. */
    private void pack() {
        int[] old = heads;
        byte[][] from = pages;
        heads = new int[old.length];
        pages = new byte[4][];
        used = 0;
        free = 0;
        bytes = 0;
        wasted = 0;
        for (int i = 0; i < old.length; i++) {
            for (int place = old[i]; place != 0; ) {
                byte[] page = from[(place - 1) >>> (PAGE - 3)];
                long at = at(place);
                int size = HEADER + Platform.getInt(page, at + 8) + Platform.getInt(page, at + 12);
                int made = room(size) + 1;
                byte[] into = page(made);
                Platform.copyMemory(page, at, into, at(made), size);
                Platform.putInt(into, at(made), heads[i]);
                heads[i] = made;
                place = Platform.getInt(page, at);
            }
        }
    }
}
