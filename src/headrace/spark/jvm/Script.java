package headrace;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;

/**
 * Carries out what spark/script.py wrote down: constructors and calls, each with the number of its result.
 *
 * A program is a JSON list of instructions [number, kind, …, arguments]. An argument is a JSON value, or a list
 * with one number: the result of that instruction. Compiled by Janino, which knows no lambdas.
 */
public final class Script {
    private final Map results = new HashMap();
    private final Map known = new HashMap();
    private final ObjectMapper json = new ObjectMapper();

    public Script() {
        results.put(Integer.valueOf(0), this);
    }

    /** Enters an object that was made elsewhere. */
    public void put(int number, Object value) {
        results.put(Integer.valueOf(number), value);
    }

    /** Makes a class known that no class loader of Spark's finds. */
    public void know(Class type) {
        known.put(type.getName(), type);
    }

    /**
     * Does the instructions, forgets what is gone, and gives the result asked for. One that fails does not keep
     * the others from being done, for later programs may use them; the first failure is thrown at the end.
     */
    public Object run(String program, int wanted) throws Throwable {
        List parts = (List) json.readValue(program, List.class);
        List instructions = (List) parts.get(0);
        Throwable failure = null;
        for (int i = 0; i < instructions.size(); i++) {
            List instruction = (List) instructions.get(i);
            try {
                results.put(instruction.get(0), apply(instruction));
            } catch (Throwable problem) {
                failure = failure == null ? problem : failure;
            }
        }
        Object result = results.get(Integer.valueOf(wanted));
        List gone = (List) parts.get(1);
        for (int i = 0; i < gone.size(); i++) {
            results.remove(gone.get(i));
        }
        if (failure != null) {
            throw failure;
        }
        return result;
    }

    /** An expression or aggregate written as SQL over the columns of a plan, resolved. */
    public Object resolve(SparkSession session, Project parsed) {
        LogicalPlan plan = Dataset.ofRows(session, parsed).queryExecution().analyzed();
        Object first = plan instanceof Aggregate
            ? ((Aggregate) plan).aggregateExpressions().apply(0)
            : ((Project) plan).projectList().apply(0);
        return ((Alias) first).child();
    }

    /** A DataFrame of a plan whose parts are all resolved. */
    public Dataset dataset(SparkSession session, LogicalPlan given) {
        LogicalPlan plan = Slot.plain(given);
        plan.setAnalyzed();
        return Dataset.ofRows(session, plan);
    }

    private Object apply(List instruction) throws Throwable {
        String kind = (String) instruction.get(1);
        if (kind.equals("seq")) {
            return scala.jdk.javaapi.CollectionConverters.asScala(arguments(instruction, 2)).toSeq();
        }
        if (kind.equals("list")) {
            return arguments(instruction, 2);
        }
        if (kind.equals("module")) {
            return load((String) instruction.get(2) + "$").getField("MODULE$").get(null);
        }
        try {
            if (kind.equals("new")) {
                List values = arguments(instruction, 3);
                Class type = load((String) instruction.get(2));
                Constructor made = (Constructor) find(type, "<init>", values);
                return made.newInstance(values.toArray());
            }
            List values = arguments(instruction, 4);
            Object target = kind.equals("static") ? null : value(instruction.get(2));
            Class type = target == null ? load((String) instruction.get(2)) : target.getClass();
            Method method = (Method) find(type, (String) instruction.get(3), values);
            return method.invoke(target, values.toArray());
        } catch (InvocationTargetException problem) {
            throw problem.getCause();
        }
    }

    private List arguments(List instruction, int from) {
        List values = new ArrayList();
        for (int i = from; i < instruction.size(); i++) {
            values.add(value(instruction.get(i)));
        }
        return values;
    }

    private Object value(Object argument) {
        if (!(argument instanceof List)) {
            return argument;
        }
        Object number = ((List) argument).get(0);
        if (!results.containsKey(number)) {
            throw new IllegalStateException("there is no result " + number);
        }
        return results.get(number);
    }

    private Class load(String name) throws ClassNotFoundException {
        Object found = known.get(name);
        if (found == null) {
            found = Class.forName(name, true, Thread.currentThread().getContextClassLoader());
            known.put(name, found);
        }
        return (Class) found;
    }

    /** The public constructor or method of a class that takes these values; of several, the first. */
    private Executable find(Class type, String name, List values) throws NoSuchMethodException {
        String key = type.getName() + "." + name + "/" + values.size();
        Object candidates = known.get(key);
        if (candidates == null) {
            candidates = candidates(type, name, values.size());
            known.put(key, candidates);
        }
        List list = (List) candidates;
        for (int i = 0; i < list.size(); i++) {
            Executable candidate = (Executable) list.get(i);
            if (takes(candidate.getParameterTypes(), values)) {
                return candidate;
            }
        }
        throw new NoSuchMethodException(key);
    }

    private List candidates(Class type, String name, int count) {
        List found = new ArrayList();
        Executable[] all = name.equals("<init>") ? (Executable[]) type.getConstructors() : type.getMethods();
        for (int i = 0; i < all.length; i++) {
            boolean named = name.equals("<init>") || all[i].getName().equals(name);
            if (named && all[i].getParameterCount() == count) {
                Executable open = all[i];
                if (!Modifier.isPublic(open.getDeclaringClass().getModifiers())) {
                    open.setAccessible(true);
                }
                found.add(open);
            }
        }
        return found;
    }

    private boolean takes(Class[] types, List values) {
        for (int i = 0; i < types.length; i++) {
            Object value = values.get(i);
            Class type = types[i];
            if (value == null ? type.isPrimitive() : !boxed(type).isInstance(value)) {
                return false;
            }
        }
        return true;
    }

    /** What a primitive parameter takes; a whole number is widened in the call. */
    private Class boxed(Class type) {
        if (type == Integer.TYPE || type == Long.TYPE) {
            return Integer.class;
        }
        return type == Boolean.TYPE ? Boolean.class : type;
    }
}
