package headrace;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.trees.Origin;
import scala.Product;
import scala.collection.Iterable;
import scala.collection.Iterator;

/**
 * The tables that a parsed query names, wherever in it: in common table expressions and in expressions too, which are
 * not children of a plan. Compiled by Janino, which knows no lambdas.
 */
public final class Names {
    private final List found = new ArrayList();
    private final List local = new ArrayList();

    public Names(LogicalPlan plan) {
        look(plan);
    }

    /**
     * Each as text: where it stands in the query (from, to), whether it is read as a stream, whether it has another name
     * there, the parts of its name.
     */
    public List relations() {
        return found;
    }

    /** The names that the query itself defines. */
    public List local() {
        return local;
    }

    private void look(Object thing) {
        if (thing instanceof UnresolvedRelation) {
            note((UnresolvedRelation) thing, false);
            return;
        }
        if (thing instanceof SubqueryAlias && ((SubqueryAlias) thing).child() instanceof UnresolvedRelation) {
            note((UnresolvedRelation) ((SubqueryAlias) thing).child(), true);
            return;
        }
        if (thing instanceof UnresolvedWith) {
            Iterator parts = ((UnresolvedWith) thing).cteRelations().iterator();
            while (parts.hasNext()) {
                local.add(((Product) parts.next()).productElement(0));
            }
        }
        Iterator parts = null;
        if (thing instanceof Iterable) {
            parts = ((Iterable) thing).iterator();
        } else if (thing instanceof Product) {
            parts = ((Product) thing).productIterator();
        }
        while (parts != null && parts.hasNext()) {
            look(parts.next());
        }
    }

    private void note(UnresolvedRelation relation, boolean aliased) {
        Origin origin = relation.origin();
        StringBuilder text = new StringBuilder();
        text.append(origin.startIndex().isDefined() ? origin.startIndex().get() : "-1");
        text.append('\u0001').append(origin.stopIndex().isDefined() ? origin.stopIndex().get() : "-1");
        text.append('\u0001').append(relation.isStreaming());
        text.append('\u0001').append(aliased);
        Iterator parts = relation.multipartIdentifier().iterator();
        while (parts.hasNext()) {
            text.append('\u0001').append(parts.next());
        }
        found.add(text.toString());
    }
}
