package headrace;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.SparkPartitionID;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;
import org.apache.spark.util.AccumulatorV2;
import scala.collection.Iterator;

/**
 * How many rows have passed the filters of a query that let every row pass: those that compare the number of a
 * partition with one that no partition has, and are known by it. Such a filter is part of generated code, where Spark's
 * own CollectMetrics would stand between two parts of it and handle row by row.
 */
public final class Counts {
    private Counts() {
    }

    /** What was counted, in the form of Spark's observed metrics: 1 stands for "out", a larger n for Tvr n - 2. */
    public static String of(QueryExecution execution) {
        java.util.TreeMap found = new java.util.TreeMap();
        visit(execution.executedPlan(), found);
        StringBuilder text = new StringBuilder(execution.observedMetrics().toString());
        java.util.Iterator each = found.entrySet().iterator();
        while (each.hasNext()) {
            java.util.Map.Entry one = (java.util.Map.Entry) each.next();
            long number = ((Long) one.getKey()).longValue();
            text.append((number == 1 ? " out" : " tvr" + (number - 2)) + " -> [" + one.getValue() + "]");
        }
        return text.toString();
    }

    private static void visit(SparkPlan plan, java.util.TreeMap found) {
        if (plan instanceof AdaptiveSparkPlanExec) {
            visit(((AdaptiveSparkPlanExec) plan).executedPlan(), found);
        } else if (plan instanceof QueryStageExec) {
            visit(((QueryStageExec) plan).plan(), found);
        } else if (!(plan instanceof ReusedExchangeExec)) {
            Long number = plan instanceof FilterExec ? number(((FilterExec) plan).condition()) : null;
            if (number != null) {
                long rows = ((Number) ((AccumulatorV2) plan.longMetric("numOutputRows")).value()).longValue();
                Long known = (Long) found.get(number);
                // Of two that count the same rows, one may not have been asked for all.
                found.put(number, known == null ? Long.valueOf(rows) : Long.valueOf(Math.max(known.longValue(), rows)));
            }
            Iterator below = plan.children().iterator();
            while (below.hasNext()) {
                visit((SparkPlan) below.next(), found);
            }
        }
    }

    /** The number by which a condition is known; null for any other. */
    private static Long number(Expression condition) {
        Long found = null;
        Iterator each = condition.children().iterator();
        boolean asks = false;
        while (each.hasNext()) {
            Expression child = (Expression) each.next();
            asks = asks || child instanceof SparkPartitionID;
            if (child instanceof Literal && ((Literal) child).value() instanceof Integer) {
                found = Long.valueOf(-((Integer) ((Literal) child).value()).longValue());
            }
        }
        if (asks) {
            return found;
        }
        each = condition.children().iterator();
        while (each.hasNext()) {
            Long below = number((Expression) each.next());
            if (below != null) {
                return below;
            }
        }
        return null;
    }
}
