package headrace;

import java.nio.ByteOrder;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/**
 * A row in few bytes, and the row that is read from them.
 *
 * An UnsafeRow is words of eight bytes: which columns are null, a word for each column, and what is longer than one.
 * Most are small numbers. Packed, a row is the number of its words (one byte, or four of which the first has its upper
 * bit set), half a byte for each word, and of each word the lower bytes, without the upper ones that are all 0 or all
 * 255. Half a byte n from 0 to 8 says that n bytes are there and 0 follows; n from 9 on that n - 9 are and 255 follows.
 *
 * A row has one such form, and where it ends follows from how it begins: of two rows one is the other where the bytes
 * of it are those that the other begins with.
 */
public final class Packed {
    public static final int SLACK = 8;  // bytes behind what is packed: words are written and read whole
    private static final int ONES = 9;
    private static final long BASE = Platform.BYTE_ARRAY_OFFSET;
    private static final boolean BIG = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;
    private static final byte[] LENGTHS = lengths();  // of two words, by the byte that tells of both

    public final UnsafeRow row;
    public byte[] bytes = new byte[64];
    public int size = 0;
    private byte[] words = new byte[64];

    public Packed(int columns) {
        this.row = new UnsafeRow(columns);
    }

    private static byte[] lengths() {
        byte[] found = new byte[256];
        for (int i = 0; i < 256; i++) {
            found[i] = (byte) (length(i & 15) + length(i >> 4));
        }
        return found;
    }

    private static int length(int code) {
        return code < ONES ? code : code - ONES;
    }

    /** Pack a row. */
    public Packed of(UnsafeRow given) {
        int count = given.getSizeInBytes() >> 3;
        int most = 4 + (count >> 1) + 1 + 8 * count + SLACK;
        if (bytes.length < most) {
            bytes = new byte[2 * most];
        }
        int codes = 1;
        if (count < 128) {
            bytes[0] = (byte) count;
        } else {
            codes = 4;
            bytes[0] = (byte) (count >> 24 | 128);
            bytes[1] = (byte) (count >> 16);
            bytes[2] = (byte) (count >> 8);
            bytes[3] = (byte) count;
        }
        int at = codes + (count + 1 >> 1);
        Object base = given.getBaseObject();
        long from = given.getBaseOffset();
        for (int i = 0; i < count; i++) {
            long word = Platform.getLong(base, from + 8L * i);
            int ones = word < 0 ? 71 - Long.numberOfLeadingZeros(~word) >> 3 : 8;
            int code = ones < 7 ? ONES + ones : 71 - Long.numberOfLeadingZeros(word) >> 3;
            int place = codes + (i >> 1);
            bytes[place] = (byte) ((i & 1) == 0 ? code : bytes[place] & 15 | code << 4);
            Platform.putLong(bytes, BASE + at, BIG ? Long.reverseBytes(word) : word);
            at += length(code);
        }
        size = at;
        return this;
    }

    /** Take over what is packed at a place; where it ends. */
    public long copy(byte[] from, long at) {
        size = size(from, at);
        if (bytes.length < size + SLACK) {
            bytes = new byte[2 * (size + SLACK)];
        }
        Platform.copyMemory(from, at, bytes, BASE, size);
        return at + size;
    }

    /** How many bytes the row takes that is packed at a place. */
    public static int size(byte[] from, long at) {
        int count = count(from, at);
        long codes = at + (count < 128 ? 1 : 4);
        long sum = codes - at + (count + 1 >> 1);
        for (int i = 0; i < count; i += 2) {
            sum += LENGTHS[Platform.getByte(from, codes + (i >> 1)) & 255];
        }
        return (int) sum;
    }

    /** Let the row be what is packed at a place. It is the same object every time, over the same memory. */
    public UnsafeRow read(byte[] from, long at) {
        int count = count(from, at);
        if (words.length < 8 * count) {
            words = new byte[16 * count];
        }
        long codes = at + (count < 128 ? 1 : 4);
        long next = codes + (count + 1 >> 1);
        for (int i = 0; i < count; i++) {
            int code = Platform.getByte(from, codes + (i >> 1)) >> ((i & 1) << 2) & 15;
            int length = length(code);
            long word = 0;
            if (length > 0) {
                word = Platform.getLong(from, next);
                word = BIG ? Long.reverseBytes(word) : word;
                word = length == 8 ? word : word & (1L << 8 * length) - 1;
                next += length;
            }
            Platform.putLong(words, BASE + 8L * i, code < ONES ? word : word | -1L << 8 * length);
        }
        row.pointTo(words, BASE, 8 * count);
        return row;
    }

    private static int count(byte[] from, long at) {
        int first = Platform.getByte(from, at);
        return first >= 0 ? first : (first & 127) << 24 | (Platform.getByte(from, at + 1) & 255) << 16
            | (Platform.getByte(from, at + 2) & 255) << 8 | Platform.getByte(from, at + 3) & 255;
    }
}
