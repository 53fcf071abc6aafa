package headrace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Tuple2;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Nil$;

/**
 * Rows of Parquet files, read by Spark's own reader in the driver, and of small ones remembered.
 *
 * A scan costs a broadcast, a Hadoop configuration and a footer for every relation of every step, which for a file of
 * a few rows is most of the step. A file that was read is known by its path, size and time. Compiled by Janino, which
 * knows no lambdas.
 */
public final class SmallFiles {
    private static final long REMEMBERED = 8L << 20;  // bytes of files; their rows take several times as much
    private static final long SMALL = 256L << 10;

    private final Map readers = new HashMap();
    private final LinkedHashMap known = new LinkedHashMap(64, 0.75f, true);
    private final Map sizes = new HashMap();
    private long bytes = 0;

    /** The rows of files as a relation. */
    public LogicalPlan relation(SparkSession session, StructType schema, String told) throws Exception {
        Object[] parts = rows(session, schema, told);
        List all = new ArrayList();
        for (int i = 0; i < parts.length; i++) {
            all.addAll(java.util.Arrays.asList((Object[]) parts[i]));
        }
        scala.collection.Iterator each = scala.jdk.javaapi.CollectionConverters.asScala(all.iterator());
        return new LocalRelation(DataTypeUtils.toAttributes(schema), each.toSeq(), false, scala.Option.empty());
    }

    /** The rows of files, an array for each; a file is told by its path, its size and its time. */
    public Object[] rows(SparkSession session, StructType schema, String told) throws Exception {
        List files = (List) new ObjectMapper().readValue(told, List.class);
        Object[] all = new Object[files.size() / 3];
        String columns = schema.json();
        for (int i = 0; i < all.length; i++) {
            String path = (String) files.get(3 * i);
            long size = ((Number) files.get(3 * i + 1)).longValue();
            String key = path + "\u0001" + size + "\u0001" + files.get(3 * i + 2) + "\u0001" + columns;
            InternalRow[] found = remembered(key);
            if (found == null) {
                found = read(session, schema, columns, path, size);
                if (size <= SMALL) {
                    remember(key, found, size);
                }
            }
            all[i] = found;
        }
        return all;
    }

    private synchronized InternalRow[] remembered(String key) {
        return (InternalRow[]) known.get(key);
    }

    private synchronized void remember(String key, InternalRow[] found, long size) {
        if (known.put(key, found) == null) {
            sizes.put(key, Long.valueOf(size));
            bytes += size;
        }
        Iterator oldest = known.keySet().iterator();
        while (bytes > REMEMBERED && known.size() > 1) {
            bytes -= ((Long) sizes.remove(oldest.next())).longValue();
            oldest.remove();
        }
    }

    /** What can change how a file is read. */
    private static String settings(SparkSession session) {
        TreeMap found = new TreeMap();
        scala.collection.Iterator each = session.sessionState().conf().getAllConfs().iterator();
        while (each.hasNext()) {
            Tuple2 pair = (Tuple2) each.next();
            String name = (String) pair._1();
            if (name.startsWith("spark.sql.parquet") || name.startsWith("spark.sql.legacy")
                    || name.equals("spark.sql.session.timeZone") || name.equals("spark.sql.caseSensitive")) {
                found.put(name, pair._2());
            }
        }
        return found.toString();
    }

    private InternalRow[] read(SparkSession session, StructType schema, String columns, String path, long size) {
        boolean vectors = size > SMALL;  // for a small file, making vectors of thousands takes longer than reading it
        Function1 reader = reader(session, schema, columns, vectors);
        PartitionedFile file = new PartitionedFile(
            InternalRow.empty(), SparkPath.fromPath(new Path("file", null, path)), 0L, size,
            new String[0], 0L, size, (scala.collection.immutable.Map) Map$.MODULE$.empty());
        scala.collection.Iterator found = (scala.collection.Iterator) reader.apply(file);
        UnsafeProjection project = vectors ? UnsafeProjection.create(schema) : null;
        List rows = new ArrayList();
        while (found.hasNext()) {
            InternalRow row = (InternalRow) found.next();
            rows.add(project == null ? row.copy() : project.apply(row).copy());
        }
        return (InternalRow[]) rows.toArray(new InternalRow[rows.size()]);
    }

    private synchronized Function1 reader(SparkSession session, StructType schema, String columns, boolean vectors) {
        String key = vectors + settings(session) + columns;
        Function1 reader = (Function1) readers.get(key);
        if (reader == null) {
            if (readers.size() > 200) {
                readers.clear();
            }
            SparkSession plain = session.cloneSession();
            plain.conf().set("spark.sql.parquet.enableVectorizedReader", String.valueOf(vectors));
            Configuration hadoop = plain.sessionState().newHadoopConf();
            scala.collection.immutable.Map options = (scala.collection.immutable.Map) Map$.MODULE$.empty();
            options = (scala.collection.immutable.Map) options.updated("returning_batch", "false");
            reader = new ParquetFileFormat().buildReaderWithPartitionValues(
                plain, schema, new StructType(), schema, Nil$.MODULE$, options, hadoop);
            readers.put(key, reader);
        }
        return reader;
    }
}
