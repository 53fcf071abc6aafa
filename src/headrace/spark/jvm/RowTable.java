package headrace;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * Rows with weights by key: chains of records in pages of bytes, found through a table of their beginnings.
 * Compiled by Janino, as all classes here.
 *
 * A record is next (4 bytes), weight (1, or 5 where the first says so), the key and the rest, both packed. A place is
 * a number of four bytes, counted over all pages, plus one: zero is nowhere. A record that has left stays in its page
 * until the table is made compact.
 */
public final class RowTable implements java.io.Serializable {
    private static final int PAGE = 20;  // bits of a page's size
    private static final int UNIT = 2;   // bits of what a place counts
    private static final int WIDE = -128;  // says that a weight has four bytes more
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
    public synchronized void add(Packed key, Packed rest, int hash, long weight) {
        if (weight != (int) weight) {
            throw new ArithmeticException("Headrace: a weight of " + weight + " in memory");
        }
        if (records >= heads.length) {
            grow();
        }
        boolean wide = weight <= WIDE || weight >= -WIDE;
        int size = size(wide, key.size + rest.size);
        int place = room(size);
        byte[] page = page(place);
        long at = at(place);
        int slot = slot(hash);
        keys += seek(heads[slot], key) == 0 ? 1 : 0;
        Platform.putInt(page, at, heads[slot]);
        Platform.putByte(page, at + 4, (byte) (wide ? WIDE : weight));
        if (wide) {
            Platform.putInt(page, at + 5, (int) weight);
        }
        long into = key(page, at);
        Platform.copyMemory(key.bytes, BASE, page, into, key.size);
        Platform.copyMemory(rest.bytes, BASE, page, into + key.size, rest.size);
        heads[slot] = place;
        records++;
        content += size;
    }

    /** Remove one record that is equal in key and rest; false where there is none. */
    public synchronized boolean take(Packed key, Packed rest, int hash) {
        int slot = slot(hash);
        int before = 0;
        for (int place = heads[slot]; place != 0; place = next(place)) {
            if (weight(place) > 0 && holds(place, key, 0) && has(place, key, rest)) {
                if (before == 0) {
                    heads[slot] = next(place);
                } else {
                    Platform.putInt(page(before), at(before), next(place));
                }
                int size = size(place);
                records--;
                keys -= seek(heads[slot], key) == 0 ? 1 : 0;
                wasted += size;
                content -= size;
                if (wasted > bytes / 2) {
                    compact();
                }
                return true;
            }
            before = place;
        }
        return false;
    }

    /** The first record with a key, zero for none. */
    public int find(Packed key, int hash) {
        return seek(heads[slot(hash)], key);
    }

    /** The next record with a key after one that has it. */
    public int after(int place, Packed key) {
        return seek(next(place), key);
    }

    private int seek(int place, Packed key) {
        while (place != 0 && !holds(place, key, 0)) {
            place = next(place);
        }
        return place;
    }

    public int weight(int place) {
        byte[] page = page(place);
        int weight = Platform.getByte(page, at(place) + 4);
        return weight == WIDE ? Platform.getInt(page, at(place) + 5) : weight;
    }

    /** The rest of a record. */
    public UnsafeRow read(int place, Packed rest) {
        byte[] page = page(place);
        long key = key(page, at(place));
        return rest.read(page, key + Packed.size(page, key));
    }

    /** The key of a record. */
    public UnsafeRow readKey(int place, Packed key) {
        byte[] page = page(place);
        return key.read(page, key(page, at(place)));
    }

    /** Take the key and the rest of a record over as they are, and tell the hash of the key. */
    public int copy(int place, Packed key, Packed rest) {
        byte[] page = page(place);
        rest.copy(page, key.copy(page, key(page, at(place))));
        return hash(readKey(place, key));
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
        Packed key = new Packed(keys);
        Packed rest = new Packed(columns);
        boolean found = true;
        for (int i = 0; i < heads.length; i++) {
            for (int place = heads[i]; place != 0; place = next(place)) {
                int hash = copy(place, key, rest);
                int weight = weight(place);
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

    /** Whether a record with a key has a rest. */
    public boolean has(int place, Packed key, Packed rest) {
        return holds(place, rest, key.size);
    }

    /** Whether a record has a packed row so many bytes behind the beginning of its key. */
    private boolean holds(int place, Packed row, int behind) {
        byte[] page = page(place);
        long at = key(page, at(place)) + behind;
        return at + row.size <= BASE + page.length
            && ByteArrayMethods.arrayEquals(page, at, row.bytes, BASE, row.size);
    }

    private int slot(int hash) {
        return (hash >>> 4) & (heads.length - 1);  // the lowest bits choose the table
    }

    /** The next record of a chain, zero for none. */
    public int next(int place) {
        return Platform.getInt(page(place), at(place));
    }

    private byte[] page(int place) {
        return pages[(place - 1) >>> (PAGE - UNIT)];
    }

    private static long at(int place) {
        return BASE + ((long) ((place - 1) & ((1 << (PAGE - UNIT)) - 1)) << UNIT);
    }

    /** Where the key of a record begins. */
    private static long key(byte[] page, long at) {
        return at + (Platform.getByte(page, at + 4) == WIDE ? 9 : 5);
    }

    private static int size(boolean wide, int rows) {
        return ((wide ? 9 : 5) + rows + (1 << UNIT) - 1) & -(1 << UNIT);
    }

    private int size(int place) {
        byte[] page = page(place);
        long key = key(page, at(place));
        int size = Packed.size(page, key);
        return size(key - at(place) > 5, size + Packed.size(page, key + size));
    }

    /** A place for a record. One that is larger than a page gets a page of its own. */
    private int room(int size) {
        if (used == 0 || free + size > pages[used - 1].length - Packed.SLACK) {
            if (used == (1 << (31 - (PAGE - UNIT))) - 1) {
                throw new IllegalStateException("Headrace: a table in memory is full");
            }
            if (used == pages.length) {
                pages = (byte[][]) java.util.Arrays.copyOf(pages, 2 * used);
            }
            // A quarter of what is there.
            int share = (int) Math.min(Math.max(bytes / 4, 1 << 10), (1 << PAGE) - Packed.SLACK);
            pages[used++] = new byte[Math.max(size, share) + Packed.SLACK];
            bytes += pages[used - 1].length;
            free = 0;
        }
        int place = ((used - 1) << (PAGE - UNIT)) + (free >>> UNIT) + 1;
        free += size;
        return place;
    }

    private void grow() {
        int[] old = heads;
        heads = new int[2 * old.length];
        Packed key = new Packed(0);
        for (int i = 0; i < old.length; i++) {
            int place = old[i];
            while (place != 0) {
                int follower = next(place);
                int slot = slot(hash(readKey(place, key)));
                Platform.putInt(page(place), at(place), heads[slot]);
                heads[slot] = place;
                place = follower;
            }
        }
    }

    /** Copy what is live into new pages. */
    private void compact() {
        RowTable made = new RowTable();
        made.heads = new int[heads.length];
        for (int i = 0; i < heads.length; i++) {
            for (int place = heads[i]; place != 0; place = next(place)) {
                int size = size(place);
                int copy = made.room(size);
                Platform.copyMemory(page(place), at(place), made.page(copy), at(copy), size);
                Platform.putInt(made.page(copy), at(copy), made.heads[i]);
                made.heads[i] = copy;
            }
        }
        heads = made.heads;
        pages = made.pages;
        used = made.used;
        free = made.free;
        bytes = made.bytes;
        wasted = 0;
    }
}
