package headrace;

import java.util.Iterator;
import java.util.LinkedHashMap;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;

/**
 * Plans that were run before, as Spark planned them and with the code it generated.
 *
 * A refresh builds the very plans that the one before it built, over slots with other rows. Planning them and
 * generating their code takes longer than running them. The least recently used are forgotten.
 */
public final class Prepared {
    private static final int MOST = 64;

    private final LinkedHashMap known = new LinkedHashMap(64, 0.75f, true);
    private long hits = 0;

    public synchronized QueryExecution get(LogicalPlan plan) {
        QueryExecution found = (QueryExecution) known.get(plan);
        hits += found == null ? 0 : 1;
        return found;
    }

    public synchronized void put(LogicalPlan plan, QueryExecution planned) {
        known.put(plan, planned);
        if (known.size() > MOST) {
            Iterator oldest = known.keySet().iterator();
            oldest.next();
            oldest.remove();
        }
    }

    public synchronized void forget(LogicalPlan plan) {
        known.remove(plan);
    }

    /** How often a plan was there. */
    public synchronized long hits() {
        return hits;
    }
}
