package headrace;

import java.util.ArrayList;
import java.util.List;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * The files that Spark would read for a relation, with the partition values of each as text.
 *
 * The text is what PartitionedFiles reads back: a time without a zone is in UTC. Compiled by Janino, which knows no
 * lambdas.
 */
public final class Listing {
    /** A JSON list of [path, [value or null, ...]]. */
    public String of(HadoopFsRelation relation) throws Exception {
        List found = new ArrayList();
        Seq nothing = (Seq) scala.collection.immutable.Nil$.MODULE$;
        Seq partitions = relation.location().listFiles(nothing, nothing);
        for (int i = 0; i < partitions.size(); i++) {
            PartitionDirectory partition = (PartitionDirectory) partitions.apply(i);
            List values = values(partition.values(), relation.partitionSchema());
            Seq files = partition.files();
            for (int j = 0; j < files.size(); j++) {
                Path path = ((FileStatusWithMetadata) files.apply(j)).getPath();
                List file = new ArrayList();
                file.add(path.toUri().getPath());
                file.add(values);
                found.add(file);
            }
        }
        return new ObjectMapper().writeValueAsString(found);
    }

    private static List values(InternalRow row, StructType columns) {
        List texts = new ArrayList();
        for (int i = 0; i < columns.length(); i++) {
            DataType type = columns.apply(i).dataType();
            Object value = row.isNullAt(i) ? null : row.get(i, type);
            Literal literal = new Literal(value, type);
            Object text = new Cast(literal, DataTypes.StringType, scala.Option.apply("UTC"), EvalMode.ANSI()).eval(null);
            texts.add(text == null ? null : text.toString());
        }
        return texts;
    }
}
