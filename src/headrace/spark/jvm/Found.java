package headrace;

import java.util.HashMap;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.collection.AbstractIterator;

/**
 * The rows of one part of an index with one key after another; the row that is given out is the same object every time.
 *
 * Of the Segments that are settled a row is given as often as their weights say together, with a weight of one. What is
 * pending is given as it is.
 */
public final class Found extends AbstractIterator {
    private final RowTable[] tables;
    private final int settled;
    private final boolean weighted;
    private final int columns;
    private final Packed key = new Packed(0);
    private final Packed rest;
    private final Packed looked;  // at, while another row is given out
    private final GenericInternalRow weight = new GenericInternalRow(1);
    private final JoinedRow both = new JoinedRow();
    private int hash;
    private HashMap left;       // rows of the key that have left, and how many of each are still to be left out
    private int segment;
    private int place;
    private int times;          // how often the row at the place is still to be given
    private long weighs;

    /** Of some tables, a Segment each; those from ``settled`` on are pending. */
    public Found(RowTable[] tables, int settled, int columns, boolean weighted) {
        this.tables = tables;
        this.settled = settled;
        this.weighted = weighted;
        this.columns = columns;
        this.rest = new Packed(columns);
        this.looked = new Packed(columns);
    }

    /** Begin with a key, or with none. */
    public Found of(UnsafeRow given) {
        times = 0;
        place = 0;
        segment = tables.length;
        if (given != null) {
            hash = RowTable.hash(given);
            key.of(given);
            left = null;
            for (int i = 1; i < settled; i++) {  // from the first none has left
                leave(tables[i]);
            }
            segment = 0;
            place = tables.length == 0 ? 0 : tables[0].find(key, hash);
            look();
        }
        return this;
    }

    private void leave(RowTable table) {
        for (int at = table.find(key, hash); at != 0; at = table.after(at, key)) {
            if (table.weight(at) < 0) {
                UnsafeRow row = table.read(at, new Packed(columns));
                left = left == null ? new HashMap() : left;
                int[] count = (int[]) left.get(row);
                left.put(row, new int[] {(count == null ? 0 : count[0]) - table.weight(at)});
            }
        }
    }

    /** Go on to the next record, from the place on, that is to be given. */
    private void look() {
        while (segment < tables.length) {
            for (; place != 0; place = tables[segment].after(place, key)) {
                int held = tables[segment].weight(place);
                if (segment >= settled && weighted) {
                    times = 1;
                    weighs = held;
                    return;
                }
                times = held - gone(held);
                weighs = 1;
                if (times > 0) {
                    return;
                }
            }
            segment++;
            place = segment < tables.length ? tables[segment].find(key, hash) : 0;
        }
    }

    /** How many of so many rows at the place have left. */
    private int gone(int held) {
        if (left == null || held < 0 || segment >= settled) {
            return 0;
        }
        int[] count = (int[]) left.get(tables[segment].read(place, looked));
        int some = count == null ? 0 : Math.min(count[0], held);
        if (some > 0) {
            count[0] -= some;
        }
        return some;
    }

    public boolean hasNext() {
        return times > 0;
    }

    public Object next() {
        if (times <= 0) {
            throw new java.util.NoSuchElementException();
        }
        InternalRow row = tables[segment].read(place, rest);
        if (weighted) {
            weight.update(0, Long.valueOf(weighs));
            row = both.apply(row, weight);
        }
        if (--times == 0) {
            place = tables[segment].after(place, key);
            look();
        }
        return row;
    }
}
