package headrace;

import java.io.Serializable;
import java.util.ArrayList;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.Product2;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction2;

/**
 * Makes one part of a Segment from the rows that were brought to it: first the key, then the rest, then the weight where
 * there is one. It changes nothing that is there, so it may be done again, and twice at once.
 */
public final class Gather extends AbstractFunction2 implements Serializable {
    private final Seq key;
    private final Seq rest;
    private final int weight;
    private final long most;

    /** Of rows with these attributes; a part that has more bytes than ``most`` is left incomplete, and says so. */
    public Gather(Seq input, int keys, int columns, boolean weighted, long most) {
        this.key = columns(input, 0, keys);
        this.rest = columns(input, keys, keys + columns);
        this.weight = weighted ? keys + columns : -1;
        this.most = most;
    }

    /** The columns of a row from one place up to another. */
    public static Seq columns(Seq input, int from, int until) {
        ArrayList found = new ArrayList();
        for (int i = from; i < until; i++) {
            found.add(new BoundReference(i, ((Attribute) input.apply(i)).dataType(), true));
        }
        return scala.jdk.javaapi.CollectionConverters.asScala(found.iterator()).toSeq();
    }

    public Object apply(Object part, Object given) {
        UnsafeProjection keyOf = UnsafeProjection.create(key);
        UnsafeProjection restOf = UnsafeProjection.create(rest);
        Part made = new Part(((Number) part).intValue());
        Packed packedKey = new Packed(key.size());
        Packed packedRest = new Packed(rest.size());
        Iterator rows = (Iterator) given;
        int seen = 0;
        while (rows.hasNext() && !made.full) {
            InternalRow row = (InternalRow) ((Product2) rows.next())._2();
            UnsafeRow found = keyOf.apply(row);
            long weighs = weight < 0 ? 1L : row.getLong(weight);
            made.table.add(packedKey.of(found), packedRest.of(restOf.apply(row)), RowTable.hash(found), weighs);
            made.full = (++seen & 0xfff) == 0 && made.table.bytes() > most;
        }
        made.full = made.full || made.table.bytes() > most;
        return scala.collection.Iterator$.MODULE$.single(made);
    }
}
