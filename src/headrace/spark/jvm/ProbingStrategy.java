package headrace;

import java.util.ArrayList;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;

/** Tells Spark's planner how rows are looked up in executors. */
public final class ProbingStrategy extends SparkStrategy {
    private static final ProbingStrategy ONE = new ProbingStrategy();

    /** Let a session know it. */
    public static synchronized void teach(SparkSession session) {
        Seq known = session.sessionState().experimentalMethods().extraStrategies();
        if (!known.contains(ONE)) {
            session.sessionState().experimentalMethods().extraStrategies_$eq((Seq) known.appended(ONE));
        }
    }

    public Seq apply(LogicalPlan plan) {
        ArrayList found = new ArrayList();
        if (plan instanceof Probing) {
            found.add(((Probing) plan).planned(planLater(((Probing) plan).child())));
        }
        return scala.jdk.javaapi.CollectionConverters.asScala(found.iterator()).toSeq();
    }
}
