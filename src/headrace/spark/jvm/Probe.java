package headrace;

import java.util.ArrayList;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Generator;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeProjection;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.IterableOnce;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** For each row the rows of an index that have its key: a join by looking up. */
public final class Probe extends Expression implements Generator, java.io.Serializable {
    private final Seq keys;
    private final long number;
    private final StructType columns;
    private final boolean nullSafe;
    private final boolean pending;
    private final boolean weighted;
    private Seq patterns;
    private transient UnsafeProjection project;
    private transient Matches matches;

    public Probe(Seq keys, Index index, StructType columns, boolean nullSafe, boolean pending, boolean weighted) {
        this(keys, index.number, columns, nullSafe, pending, weighted);
    }

    private Probe(Seq keys, long number, StructType columns, boolean nullSafe, boolean pending, boolean weighted) {
        this.keys = keys;
        this.number = number;
        this.columns = columns;
        this.nullSafe = nullSafe;
        this.pending = pending;
        this.weighted = weighted;
    }

    public IterableOnce eval(InternalRow row) {
        if (project == null) {
            project = UnsafeProjection.create(keys);
        }
        return found(project.apply(row));
    }

    /** The rows with a key. Generated code calls it too. */
    public IterableOnce found(UnsafeRow key) {
        if (matches == null) {
            matches = new Matches(Index.of(number), pending, weighted);
        }
        return matches.of(!nullSafe && key.anyNull() ? null : key);
    }

    /** The key as Spark's own projection makes it, and a call of {@link #found}. */
    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        ExprCode key = GenerateUnsafeProjection.createCode(context, keys, false);
        String self = context.addReferenceObj("probe", this, "headrace.Probe");
        ArrayList parts = new ArrayList();
        parts.add("");
        parts.add("\nscala.collection.IterableOnce ");
        parts.add(" = " + self + ".found(");
        parts.add(");");
        ArrayList values = new ArrayList();
        values.add(key.code());
        values.add(code.value());
        values.add(key.value());
        return new ExprCode(new CodeBlock(seq(parts), seq(values)), FalseLiteral$.MODULE$, code.value());
    }

    private static Seq seq(ArrayList elements) {
        return scala.jdk.javaapi.CollectionConverters.asScala(elements.iterator()).toSeq();
    }

    public StructType elementSchema() {
        return columns;
    }

    public DataType dataType() {
        return new org.apache.spark.sql.types.ArrayType(columns, true);
    }

    public boolean foldable() {
        return false;
    }

    public boolean nullable() {
        return false;
    }

    public Seq children() {
        return keys;
    }

    public Expression withNewChildrenInternal(IndexedSeq made) {
        return new Probe(made, number, columns, nullSafe, pending, weighted);
    }

    public Seq nodePatterns() {
        if (patterns == null) {
            ArrayList one = new ArrayList();
            one.add(TreePattern.GENERATOR());
            patterns = seq(one);
        }
        return patterns;
    }

    public void org$apache$spark$sql$catalyst$expressions$Generator$_setter_$nodePatterns_$eq(Seq given) {
    }

    public int productArity() {
        return 6;
    }

    public Object productElement(int i) {
        switch (i) {
            case 0: return keys;
            case 1: return Long.valueOf(number);
            case 2: return columns;
            case 3: return Boolean.valueOf(nullSafe);
            case 4: return Boolean.valueOf(pending);
            default: return Boolean.valueOf(weighted);
        }
    }

    public boolean canEqual(Object other) {
        return other instanceof Probe;
    }

    public boolean equals(Object other) {
        if (!(other instanceof Probe)) {
            return false;
        }
        for (int i = 0; i < productArity(); i++) {
            if (!productElement(i).equals(((Probe) other).productElement(i))) {
                return false;
            }
        }
        return true;
    }

    public int hashCode() {
        return 31 * keys.hashCode() + (int) number;
    }
}
