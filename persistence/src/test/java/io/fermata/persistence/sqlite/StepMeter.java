package io.fermata.persistence.sqlite;

import io.fermata.persistence.sql.SqlBackend;
import io.fermata.persistence.sql.Transactions;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.ToLongFunction;
import org.sqlite.ProgressHandler;
import org.sqlite.SQLiteConnection;

/**
 * Counts the steps that SQLite's virtual machine takes for what a store does: the same for the same
 * tables, however busy the machine is.
 */
final class StepMeter {

  /** After how many steps the machine reports. */
  private static final int STEPS = 10;

  private final ToLongFunction<String> most;
  private final List<Metered> transactions = new CopyOnWriteArrayList<>();

  /**
   * @param most after how many steps a transaction is interrupted that executes a statement; the
   *     largest counts
   */
  StepMeter(ToLongFunction<String> most) {
    this.most = most;
  }

  /** What a transaction did: the steps of each of its statements. */
  record Metered(Map<String, Long> statements) {
    long steps() {
      return statements.values().stream().mapToLong(Long::longValue).sum();
    }
  }

  /** A backend whose transactions are metered. */
  SqlBackend over(SqlBackend backend) {
    return proxy(SqlBackend.class, (method, arguments) -> call(backend, method, arguments));
  }

  /** The transactions since the last call. */
  List<Metered> transactions() {
    List<Metered> all = List.copyOf(transactions);
    transactions.clear();
    return all;
  }

  private Object call(Object target, Method method, Object[] arguments) throws Throwable {
    for (int i = 0; i < arguments.length; i++) {
      if (arguments[i] instanceof Transactions.Work<?> work) {
        arguments[i] = metered(work);
      }
    }
    Object result = invoke(target, method, arguments);
    return result instanceof Transactions some
        ? proxy(Transactions.class, (asked, with) -> call(some, asked, with))
        : result;
  }

  private <T> Transactions.Work<T> metered(Transactions.Work<T> work) {
    return connection -> {
      SQLiteConnection sqlite = connection.unwrap(SQLiteConnection.class);
      Steps steps = new Steps(most);
      ProgressHandler.setHandler(sqlite, STEPS, steps);
      try {
        return work.on(steps.noting(connection));
      } finally {
        ProgressHandler.clearHandler(sqlite);
        transactions.add(new Metered(steps.statements));
      }
    };
  }

  /** Those of one transaction, which are counted for the statement that was executed last. */
  private static final class Steps extends ProgressHandler {

    private final ToLongFunction<String> mostBy;
    private final Map<String, Long> statements = new LinkedHashMap<>();
    private String executed = "";
    private long taken;
    private long most;

    Steps(ToLongFunction<String> mostBy) {
      this.mostBy = mostBy;
      this.most = mostBy.applyAsLong(executed);
    }

    @Override
    protected int progress() {
      statements.merge(executed, (long) STEPS, Long::sum);
      taken += STEPS;
      return taken > most ? 1 : 0;
    }

    Connection noting(Connection connection) {
      return proxy(
          Connection.class,
          (method, arguments) -> {
            Object result = invoke(connection, method, arguments);
            return result instanceof PreparedStatement statement
                ? noting(statement, (String) arguments[0])
                : result;
          });
    }

    private PreparedStatement noting(PreparedStatement statement, String sql) {
      return proxy(
          PreparedStatement.class,
          (method, arguments) -> {
            if (method.getName().startsWith("execute")) {
              executed = sql.strip();
              statements.putIfAbsent(executed, 0L);
              most = Math.max(most, mostBy.applyAsLong(executed));
            }
            return invoke(statement, method, arguments);
          });
    }
  }

  private interface Call {
    Object on(Method method, Object[] arguments) throws Throwable;
  }

  private static <T> T proxy(Class<T> type, Call call) {
    return type.cast(
        Proxy.newProxyInstance(
            StepMeter.class.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) ->
                call.on(method, arguments == null ? new Object[0] : arguments)));
  }

  private static Object invoke(Object target, Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException failed) {
      throw failed.getCause();
    }
  }
}
