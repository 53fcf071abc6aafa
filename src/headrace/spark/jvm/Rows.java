package headrace;

import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Paths;
import java.util.Arrays;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.execution.exchange.Exchange;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction0;

/**
 * The few rows of a small plan, brought to the driver as they are.
 *
 * Spark's own way announces every execution with a description of its plan, which for a tiny job costs as much
 * as planning it. Compiled by Janino, which knows no lambdas.
 */
public final class Rows {
    private final QueryExecution execution;
    private final InternalRow[] rows;

    /**
     * ``here`` is the class that computes rows in this thread; null where a job is to do it. ``known`` holds plans that
     * were run before.
     */
    public Rows(final SparkSession session, LogicalPlan plan, final Class here, Prepared known) {
        QueryExecution before = here == null ? null : known.get(plan);
        QueryExecution first = before != null ? before : planned(session, here == null ? Slot.plain(plan) : plan);
        boolean again = here != null && Slot.only(plan) && !moves(first.executedPlan());
        final QueryExecution planned = again || here == null ? first : planned(session, Slot.plain(plan));
        if (before != null) {
            planned.executedPlan().resetMetrics();
        }
        InternalRow[] found = null;
        boolean done = false;
        try {
            found = within(session, new AbstractFunction0() {
                public Object apply() {
                    SparkPlan made = planned.executedPlan();
                    return here == null ? made.executeCollect() : computed(here, made);
                }
            });
            done = true;
        } finally {
            if (!done && before != null) {
                known.forget(plan);
            }
        }
        if (found != null) {
            if (again && before == null) {
                known.put(plan, planned);
            }
            this.execution = planned;
            this.rows = found;
            return;
        }
        final QueryExecution plain = planned(session, Slot.plain(plan));
        this.execution = plain;
        this.rows = within(session, new AbstractFunction0() {
            public Object apply() {
                return plain.executedPlan().executeCollect();
            }
        });
    }

    /**
     * Whether a plan hands rows to tasks, or keeps some of an earlier run: what was shuffled or broadcast once is not
     * computed again.
     */
    private static boolean moves(SparkPlan plan) {
        if (plan instanceof Exchange || plan instanceof ReusedExchangeExec || !plan.subqueries().isEmpty()) {
            return true;
        }
        Iterator each = plan.children().iterator();
        while (each.hasNext()) {
            if (moves((SparkPlan) each.next())) {
                return true;
            }
        }
        return false;
    }

    private static QueryExecution planned(SparkSession session, LogicalPlan plan) {
        plan.setAnalyzed();
        return Dataset.ofRows(session, plan).queryExecution();
    }

    /** What a function gives in a session, with its settings and its artifacts. */
    private static InternalRow[] within(final SparkSession session, final AbstractFunction0 work) {
        scala.Option before = SparkSession.getActiveSession();
        SparkSession.setActiveSession(session);
        try {
            return (InternalRow[]) SQLExecution.withSQLConfPropagated(session, new AbstractFunction0() {
                public Object apply() {
                    return session.artifactManager().withResources(work);
                }
            });
        } finally {
            if (before.isDefined()) {
                SparkSession.setActiveSession((SparkSession) before.get());
            } else {
                SparkSession.clearActiveSession();
            }
        }
    }

    private static InternalRow[] computed(Class here, SparkPlan plan) {
        try {
            return (InternalRow[]) here.getMethod("rows", new Class[] {SparkPlan.class})
                .invoke(null, new Object[] {plan});
        } catch (InvocationTargetException problem) {
            if (problem.getCause() instanceof RuntimeException) {
                throw (RuntimeException) problem.getCause();
            }
            throw new IllegalStateException(problem.getCause());
        } catch (ReflectiveOperationException problem) {
            throw new IllegalStateException(problem);
        }
    }

    public int size() {
        return rows.length;
    }

    /** The rows themselves. */
    public InternalRow[] all() {
        return rows;
    }

    public StructType schema() {
        return execution.analyzed().schema();
    }

    /** The rows as an Arrow stream of one batch. */
    public byte[] arrow() throws Exception {
        StructType schema = execution.analyzed().schema();
        if (rows.length == 0) {
            return ArrowConverters$.MODULE$.createEmptyArrowBatch(schema, "UTC", false, false);
        }
        Iterator batches = ArrowConverters$.MODULE$.toBatchWithSchemaIterator(
            iterator(), schema, Long.MAX_VALUE, Long.MAX_VALUE, "UTC", false, false);
        try {
            return (byte[]) batches.next();
        } finally {
            ((AutoCloseable) batches).close();  // its memory is not in the heap, and no task ends here to free it
        }
    }

    /** The same in a file: a large answer of py4j's is text, and takes longer than the rows took to compute. */
    public void arrowFile(String path) throws Exception {
        Files.write(Paths.get(path, new String[0]), arrow(), new OpenOption[0]);
    }

    /** What was counted on the way. */
    public String observed() {
        return Counts.of(execution);
    }

    /** The rows as a relation with the columns of the plan. */
    public LogicalPlan relation() {
        return new LocalRelation(execution.analyzed().output(), iterator().toSeq(), false, scala.Option.empty());
    }

    private Iterator iterator() {
        return scala.jdk.javaapi.CollectionConverters.asScala(Arrays.asList(rows).iterator());
    }
}
