package headrace;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedStar;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.trees.Origin;
import scala.Product;
import scala.collection.Iterable;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * The tables that a parsed query names, wherever in it: in common table expressions and in expressions too, which are
 * not children of a plan. Compiled by Janino, which knows no lambdas.
 */
public final class Names {
    private final List found = new ArrayList();
    private final List local = new ArrayList();
    private final List columns = new ArrayList();

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

    /** Each column as text: where it stands (from, to), the parts of its name; the last of all columns is a star. */
    public List columns() {
        return columns;
    }

    private void look(Object thing) {
        if (thing instanceof UnresolvedAttribute) {
            UnresolvedAttribute column = (UnresolvedAttribute) thing;
            columns.add(place(column.origin()).append(parts(column.nameParts())).toString());
            return;
        }
        if (thing instanceof UnresolvedStar && ((UnresolvedStar) thing).target().isDefined()) {
            UnresolvedStar all = (UnresolvedStar) thing;
            columns.add(place(all.origin()).append(parts((Seq) all.target().get())).append("\u0001*").toString());
            return;
        }
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
        StringBuilder text = place(relation.origin());
        text.append('\u0001').append(relation.isStreaming());
        text.append('\u0001').append(aliased);
        found.add(text.append(parts(relation.multipartIdentifier())).toString());
    }

    private static StringBuilder place(Origin origin) {
        StringBuilder text = new StringBuilder();
        text.append(origin.startIndex().isDefined() ? origin.startIndex().get() : "-1");
        text.append('\u0001').append(origin.stopIndex().isDefined() ? origin.stopIndex().get() : "-1");
        return text;
    }

    private static String parts(Seq names) {
        StringBuilder text = new StringBuilder();
        Iterator parts = names.iterator();
        while (parts.hasNext()) {
            text.append('\u0001').append(parts.next());
        }
        return text.toString();
    }
}
