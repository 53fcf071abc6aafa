package headrace;

import java.io.Serializable;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.Product2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction2;

/** Each row that was brought to a part of an index with each row found there under its key. */
public final class ProbePart extends AbstractFunction2 implements Serializable {
    private final Seq keys;
    private final Seq input;
    private final Seq found;
    private final int settled;
    private final int columns;
    private final long[][] marks;
    private final Asked asked;

    /** Rows have the attributes of ``input``, and what is found those of ``found``. */
    public ProbePart(Seq keys, Seq input, Seq found, int settled, int columns, long[][] marks, Asked asked) {
        this.keys = keys;
        this.input = input;
        this.found = found;
        this.settled = settled;
        this.columns = columns;
        this.marks = marks;
        this.asked = asked;
    }

    public Object apply(Object parts, Object given) {
        final Found matches = new Found(Part.tables((Iterator) parts, marks), settled, columns, asked.weighted);
        final UnsafeProjection key = UnsafeProjection.create(keys, input);
        Seq output = (Seq) input.appendedAll(found);
        final UnsafeProjection made = UnsafeProjection.create(Gather.columns(output, 0, output.size()));
        return new Each((Iterator) given, matches, key, made);
    }

    private final class Each extends AbstractIterator {
        private final Iterator rows;
        private final Found matches;
        private final UnsafeProjection key;
        private final UnsafeProjection made;
        private final GenericInternalRow nothing = new GenericInternalRow(found.size());
        private final JoinedRow both = new JoinedRow();
        private InternalRow row = null;
        private boolean alone = false;  // the row has no match and is given out all the same

        Each(Iterator rows, Found matches, UnsafeProjection key, UnsafeProjection made) {
            this.rows = rows;
            this.matches = matches;
            this.key = key;
            this.made = made;
        }

        public boolean hasNext() {
            while (!alone && !matches.hasNext()) {
                if (!rows.hasNext()) {
                    return false;
                }
                row = (InternalRow) ((Product2) rows.next())._2();
                UnsafeRow wanted = key.apply(row);
                matches.of(!asked.nullSafe && wanted.anyNull() ? null : wanted);
                alone = asked.outer && !matches.hasNext();
            }
            return true;
        }

        public Object next() {
            if (!hasNext()) {
                throw new java.util.NoSuchElementException();
            }
            InternalRow match = alone ? nothing : (InternalRow) matches.next();
            alone = false;
            return made.apply(both.apply(row, match));
        }
    }
}
