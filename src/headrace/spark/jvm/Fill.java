package headrace;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/** Puts the rows of a plan into an index: first the key, then the rest, then the weight where there is one. */
public final class Fill extends AbstractFunction1 implements Serializable {
    private final long number;
    private final int keys;
    private final int columns;
    private final boolean weighted;
    private final boolean pends;
    private final String schema;
    private int[] places = null;  // of the columns of a row; null for the order in which they are

    private Fill(Index index, boolean weighted, boolean pends, StructType schema) {
        this.number = index.number;
        this.keys = index.keys;
        this.columns = index.columns;
        this.weighted = weighted;
        this.pends = pends;
        this.schema = schema.json();
    }

    /** Put the rows of each plan into its index, in one job, whose tasks are of this process. */
    public static void run(SparkSession session, List plans, List indexes, List weighted, boolean pends) {
        RDD all = null;
        for (int i = 0; i < plans.size(); i++) {
            LogicalPlan plan = (LogicalPlan) plans.get(i);
            plan.setAnalyzed();
            QueryExecution planned = Dataset.ofRows(session, plan).queryExecution();
            Index index = (Index) indexes.get(i);
            boolean weighs = ((Boolean) weighted.get(i)).booleanValue();
            Fill fill = new Fill(index, weighs, pends, planned.analyzed().schema());
            ClassTag any = ClassTag$.MODULE$.AnyRef();
            RDD filled = planned.toRdd().mapPartitions(fill, false, any);
            all = all == null ? filled : all.union(filled);
        }
        if (all != null) {
            all.count();
        }
    }

    /** Put rows that are here into an index. Its columns are at ``places``, or in their order where that is null. */
    public static void put(InternalRow[] rows, StructType schema, List places, Index index, boolean weighted,
            boolean pends) {
        Fill fill = new Fill(index, weighted, pends, schema);
        if (places != null) {
            fill.places = new int[places.size()];
            for (int i = 0; i < fill.places.length; i++) {
                fill.places[i] = ((Number) places.get(i)).intValue();
            }
        }
        fill.apply(scala.jdk.javaapi.CollectionConverters.asScala(java.util.Arrays.asList(rows).iterator()));
    }

    public Object apply(Object given) {
        TaskContext task = TaskContext.get();
        if (task != null && task.attemptNumber() > 0) {
            throw new IllegalStateException("Headrace: an index in memory cannot be filled twice");
        }
        StructType types = (StructType) DataType.fromJson(schema);
        UnsafeProjection key = projection(types, 0, keys);
        UnsafeProjection rest = projection(types, keys, keys + columns);
        int last = place(keys + columns);
        Index index = Index.of(number);
        Packed packedKey = new Packed(keys);
        Packed packedRest = new Packed(columns);
        Iterator rows = (Iterator) given;
        int seen = 0;
        while (rows.hasNext()) {
            if ((++seen & 0xfff) == 0) {
                index.check();
            }
            InternalRow row = (InternalRow) rows.next();
            long weight = weighted ? row.getLong(last) : 1L;
            UnsafeRow found = key.apply(row);
            index.put(RowTable.hash(found), packedKey.of(found), packedRest.of(rest.apply(row)), weight, pends);
        }
        index.check();
        return scala.collection.Iterator$.MODULE$.empty();
    }

    private int place(int number) {
        return places == null ? number : number < places.length ? places[number] : -1;
    }

    private UnsafeProjection projection(StructType types, int from, int until) {
        ArrayList found = new ArrayList();
        for (int i = from; i < until; i++) {
            found.add(new BoundReference(place(i), types.apply(place(i)).dataType(), true));
        }
        return UnsafeProjection.create(
            scala.jdk.javaapi.CollectionConverters.asScala(found.iterator()).toSeq());
    }
}
