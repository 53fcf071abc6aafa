package headrace;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;

/**
 * Files whose partition values are told, not read from their paths.
 *
 * Spark finds the files of a partition by its path. Here that is only a key: partition i has the key /i. Which
 * partitions a filter leaves is still Spark's to say. Values are text, cast to the types of their columns; a time
 * without a zone is in UTC. Compiled by Janino, which knows no lambdas.
 */
public final class PartitionedFiles extends PartitioningAwareFileIndex {
    private final PartitionSpec spec;
    private final scala.collection.mutable.LinkedHashMap files = new scala.collection.mutable.LinkedHashMap();
    private final Map byPartition = new HashMap();
    private final java.util.ArrayList roots = new java.util.ArrayList();

    /** The partitions are a JSON list of [[value or null, ...], [[path, bytes, time of change], ...]]. */
    public PartitionedFiles(SparkSession session, StructType columns, String partitions) throws Exception {
        super(session, scala.collection.immutable.Map$.MODULE$.empty(), scala.Option.empty(), NoopCache$.MODULE$);
        List parsed = (List) new ObjectMapper().readValue(partitions, List.class);
        java.util.ArrayList paths = new java.util.ArrayList();
        for (int i = 0; i < parsed.size(); i++) {
            List partition = (List) parsed.get(i);
            Path key = new Path("file", null, "/" + i);
            paths.add(new PartitionPath(values(columns, (List) partition.get(0)), key));
            List found = (List) partition.get(1);
            FileStatus[] here = new FileStatus[found.size()];
            for (int j = 0; j < here.length; j++) {
                List file = (List) found.get(j);
                Path path = new Path("file", null, (String) file.get(0));
                long bytes = ((Number) file.get(1)).longValue();
                here[j] = new FileStatus(bytes, false, 1, 32L << 20, ((Number) file.get(2)).longValue(), path);
                files.put(path, here[j]);
                roots.add(path);
            }
            byPartition.put(key, here);
        }
        this.spec = new PartitionSpec(columns, seq(paths));
    }

    private static GenericInternalRow values(StructType columns, List texts) {
        Object[] values = new Object[texts.size()];
        for (int i = 0; i < values.length; i++) {
            Object text = texts.get(i);
            Object value = text == null ? null : UTF8String.fromString((String) text);
            Literal literal = new Literal(value, DataTypes.StringType);
            values[i] = new Cast(
                literal, columns.apply(i).dataType(), scala.Option.apply("UTC"), EvalMode.ANSI()).eval(null);
        }
        return new GenericInternalRow(values);
    }

    private static Seq seq(List elements) {
        return scala.jdk.javaapi.CollectionConverters.asScala(elements).toSeq();
    }

    public PartitionSpec partitionSpec() {
        return spec;
    }

    public scala.collection.mutable.LinkedHashMap leafFiles() {
        return files;
    }

    public scala.collection.immutable.Map leafDirToChildrenFiles() {
        return scala.collection.immutable.Map$.MODULE$.from(
            scala.jdk.javaapi.CollectionConverters.asScala(byPartition));
    }

    public Seq rootPaths() {
        return seq(roots);
    }

    public void refresh() {
    }
}
