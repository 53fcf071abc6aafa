package headrace;

import java.io.Serializable;

import org.apache.spark.HashPartitioner;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.ShuffledRDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.apache.spark.util.MutablePair;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * Brings rows to the part of an index that has their key. Rows and records with equal keys, byte for byte, are in the
 * same part, whatever they come from.
 */
public final class Routing extends AbstractFunction1 implements Serializable {
    private final Seq keys;
    private final Seq input;
    private final int parts;

    private Routing(Seq keys, Seq input, int parts) {
        this.keys = keys;
        this.input = input;
        this.parts = parts;
    }

    /** Rows with these attributes by the values of some expressions, as pairs with the row last. */
    public static RDD shuffled(RDD rows, Seq keys, Seq input, int parts) {
        ClassTag any = ClassTag$.MODULE$.AnyRef();
        RDD pairs = rows.mapPartitions(new Routing(keys, input, parts), false, any);
        ShuffledRDD made = new ShuffledRDD(pairs, new HashPartitioner(parts), any, any, any);
        return made.setSerializer(new UnsafeRowSerializer(input.size(), null));
    }

    public Object apply(Object given) {
        final Iterator rows = (Iterator) given;
        final UnsafeProjection key = UnsafeProjection.create(keys, input);
        final UnsafeProjection whole = UnsafeProjection.create(input, input);
        final int count = parts;
        return new AbstractIterator() {
            private final MutablePair pair = new MutablePair();

            public boolean hasNext() {
                return rows.hasNext();
            }

            public Object next() {
                InternalRow row = (InternalRow) rows.next();
                Integer part = Integer.valueOf(part(RowTable.hash(key.apply(row)), count));
                return pair.update(part, row instanceof UnsafeRow ? row : whole.apply(row));
            }
        };
    }

    /** The part for a hash, by its highest bits once they are mixed: a table's own chains go by the others. */
    private static int part(int hash, int parts) {
        return (int) (((hash * 0x9E3779B9L & 0xFFFFFFFFL) * parts) >>> 32);
    }
}
