package headrace;

import java.util.ArrayList;

import scala.collection.Iterator;

/** The records of a Segment whose keys belong to one part of an index. Once made, it stays as it is. */
public final class Part implements java.io.Serializable {
    public static final String OTHER = "Headrace: a part of an index in memory is not what it was";

    public final int number;
    public final RowTable table = new RowTable();
    public boolean full = false;  // it would have been larger than it may be, and lacks records

    public Part(int number) {
        this.number = number;
    }

    /**
     * The tables of one part, a Segment each. What was lost is made again by Spark from what it was made from, which
     * may be gone: ``marks`` tells of each Segment what its parts were at first.
     */
    public static RowTable[] tables(Iterator given, long[][] marks) {
        ArrayList found = new ArrayList();
        while (given.hasNext()) {
            Part part = (Part) given.next();
            int segment = found.size();
            if (segment < marks.length && marks[segment][part.number] != part.table.mark()) {
                throw new IllegalStateException(OTHER);
            }
            found.add(part.table);
        }
        return (RowTable[]) found.toArray(new RowTable[0]);
    }

    /** The sum of weights of the records with a key, and with a rest where one is given. */
    public static long sum(RowTable[] tables, int until, Packed key, Packed rest, int hash) {
        long sum = 0;
        for (int i = 0; i < until; i++) {
            for (int place = tables[i].find(key, hash); place != 0; place = tables[i].after(place, key)) {
                sum += rest == null || tables[i].has(place, key, rest) ? tables[i].weight(place) : 0;
            }
        }
        return sum;
    }
}
