package headrace;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.collection.AbstractIterator;

/** The rows of an index with one key after another; the row that is given out is the same object every time. */
public final class Matches extends AbstractIterator {
    private final Index index;
    private final boolean pending;
    private final boolean weighted;
    private final Packed key;
    private final Packed rest;
    private final GenericInternalRow weight = new GenericInternalRow(1);
    private final JoinedRow both = new JoinedRow();
    private int hash;
    private RowTable table;
    private boolean last;
    private int place;

    public Matches(Index index, boolean pending, boolean weighted) {
        this.index = index;
        this.pending = pending;
        this.weighted = weighted;
        this.key = new Packed(index.keys);
        this.rest = new Packed(index.columns);
    }

    /** Begin with a key, or with none. */
    public Matches of(UnsafeRow given) {
        place = 0;
        last = true;
        if (given != null) {
            hash = RowTable.hash(given);
            key.of(given);
            table = index.table(hash);
            place = table.find(key, hash);
            last = !pending || index.pending == null;  // a plan that is run again may find other ones
            skip();
        }
        return this;
    }

    private void skip() {
        if (place == 0 && !last) {
            table = index.pending[hash & (Index.TABLES - 1)];
            place = table.find(key, hash);
            last = true;
        }
    }

    public boolean hasNext() {
        return place != 0;
    }

    public Object next() {
        if (place == 0) {
            throw new java.util.NoSuchElementException();
        }
        InternalRow row = table.read(place, rest);
        if (weighted) {
            weight.update(0, Long.valueOf(table.weight(place)));
            row = both.apply(row, weight);
        }
        place = table.after(place, key);
        skip();
        return row;
    }
}
