package headrace;

import java.io.Serializable;

/** How rows are looked up: whether NULL equals NULL, with what a run adds, with weights, and with rows that find none. */
public final class Asked implements Serializable {
    public final boolean nullSafe;
    public final boolean newer;
    public final boolean weighted;
    public final boolean outer;

    public Asked(boolean nullSafe, boolean newer, boolean weighted, boolean outer) {
        this.nullSafe = nullSafe;
        this.newer = newer;
        this.weighted = weighted;
        this.outer = outer;
    }

    public boolean equals(Object other) {
        return other instanceof Asked && ((Asked) other).hashCode() == hashCode();
    }

    public String toString() {
        return (newer ? "new" : "old") + (nullSafe ? ", NULL equals NULL" : "") + (outer ? ", or nothing" : "");
    }

    public int hashCode() {
        return (nullSafe ? 1 : 0) + (newer ? 2 : 0) + (weighted ? 4 : 0) + (outer ? 8 : 0);
    }
}
