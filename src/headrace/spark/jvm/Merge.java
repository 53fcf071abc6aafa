package headrace;

import java.io.Serializable;

import scala.collection.Iterator;
import scala.runtime.AbstractFunction2;

/** Makes one part of one Segment from those of several: what came and left is gone, of all else nothing is. */
public final class Merge extends AbstractFunction2 implements Serializable {
    private final int keys;
    private final int columns;
    private final long[][] marks;

    public Merge(int keys, int columns, long[][] marks) {
        this.keys = keys;
        this.columns = columns;
        this.marks = marks;
    }

    public Object apply(Object number, Object given) {
        RowTable[] tables = Part.tables((Iterator) given, marks);
        Part made = new Part(((Number) number).intValue());
        for (int i = 0; i < tables.length; i++) {
            pour(tables[i], made.table, 1);
        }
        for (int i = 0; i < tables.length; i++) {
            pour(tables[i], made.table, -1);
        }
        return scala.collection.Iterator$.MODULE$.single(made);
    }

    /** The records with weights of one sign, one by one. One that leaves takes an equal one with it, if there is one. */
    private void pour(RowTable table, RowTable into, int sign) {
        Packed key = new Packed(keys);
        Packed rest = new Packed(columns);
        for (int chain = 0; chain < table.chains(); chain++) {
            for (int place = table.first(chain); place != 0; place = table.next(place)) {
                int times = sign * table.weight(place);
                int hash = table.copy(place, key, rest);
                for (int n = 0; n < times; n++) {
                    if (sign > 0 || !into.take(key, rest, hash)) {
                        into.add(key, rest, hash, sign);
                    }
                }
            }
        }
    }
}
