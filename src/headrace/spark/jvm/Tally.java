package headrace;

import java.io.Serializable;

import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;

/**
 * What the last Segment of a part brings to those before it, as numbers: which Segment of a job and which part it is,
 * its mark and its bytes, how many rows and keys there are more, whether it is full, and how many rows should leave that
 * are not there.
 */
public final class Tally extends AbstractFunction1 implements Serializable {
    public static final int SEGMENT = 0, PART = 1, MARK = 2, BYTES = 3, ROWS = 4, KEYS = 5, FULL = 6, LACKING = 7;

    private final int segment;
    private final int keys;
    private final int columns;
    private final long[][] marks;

    public Tally(int segment, int keys, int columns, long[][] marks) {
        this.segment = segment;
        this.keys = keys;
        this.columns = columns;
        this.marks = marks;
    }

    public Object apply(Object given) {
        Last parts = new Last((Iterator) given);
        RowTable[] tables = Part.tables(parts, marks);
        Part part = parts.last;
        RowTable table = part.table;
        long[] told = new long[] {
            segment, part.number, table.mark(), table.bytes(), 0L, 0L, part.full ? 1L : 0L, 0L
        };
        count(tables, table, told);
        return scala.collection.Iterator$.MODULE$.single(told);
    }

    private void count(RowTable[] tables, RowTable table, long[] told) {
        int before = tables.length - 1;
        Packed key = new Packed(keys);
        Packed rest = new Packed(columns);
        for (int chain = 0; chain < table.chains(); chain++) {
            for (int place = table.first(chain); place != 0; place = table.next(place)) {
                int weight = table.weight(place);
                int hash = table.copy(place, key, rest);
                told[ROWS] += weight;
                if (weight < 0) {
                    told[LACKING] += Part.sum(tables, tables.length, key, rest, hash) < 0 ? 1 : 0;
                }
                if (before > 0 && table.find(key, hash) == place) {
                    long had = Part.sum(tables, before, key, null, hash);
                    long has = had + Part.sum(new RowTable[] {table}, 1, key, null, hash);
                    told[KEYS] += (has > 0 ? 1 : 0) - (had > 0 ? 1 : 0);
                }
            }
        }
        told[KEYS] = before > 0 ? told[KEYS] : table.keys();
    }

    /** Passes parts on, and knows the last. */
    private static final class Last extends scala.collection.AbstractIterator {
        private final Iterator parts;
        private Part last = null;

        Last(Iterator parts) {
            this.parts = parts;
        }

        public boolean hasNext() {
            return parts.hasNext();
        }

        public Object next() {
            last = (Part) parts.next();
            return last;
        }
    }
}
