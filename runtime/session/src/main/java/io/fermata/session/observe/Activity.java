package io.fermata.session.observe;

import io.fermata.session.call.ToolReply;
import io.fermata.session.key.TraceContext;
import org.jspecify.annotations.Nullable;

/** Something that takes time and that a {@link Telemetry} was told the beginning of. */
public interface Activity {
  /** One that nobody times. */
  Activity NONE = new Activity() {};

  /** What names it to the work that it causes elsewhere. */
  default TraceContext context() {
    return TraceContext.NONE;
  }

  /** Makes it what goes on on this thread, until the returned is closed on the same thread. */
  default Entered enter() {
    return Entered.NOWHERE;
  }

  /** It is over. Told once, on any thread. */
  default void end(End end) {}

  /** A thread that works for an activity, until it is closed. */
  @FunctionalInterface
  interface Entered extends AutoCloseable {
    Entered NOWHERE = () -> {};

    @Override
    void close();
  }

  /**
   * How it ended.
   *
   * @param status that of the reply; of an effect {@code ok}, {@code rejected}, {@code failed} or
   *     {@code given_up}
   * @param code the stable name of what went wrong, if anything did
   * @param run the run or thread that it belonged to, if that is known by now only
   * @param version the version of the flow that run is on; 0 if that is not known
   */
  record End(String status, @Nullable String code, @Nullable String run, int version) {
    public static final String OK = "ok";
    public static final String REJECTED = "rejected";
    public static final String FAILED = "failed";
    public static final String GIVEN_UP = "given_up";

    public static End of(String status) {
      return new End(status, null, null, 0);
    }

    /** That of a call, as its reply tells it. */
    public static End of(ToolReply reply) {
      String status = reply.structured().path("status").asText(FAILED);
      String code = reply.error() ? reply.structured().path("code").textValue() : null;
      String run = reply.meta().path("fermata/run").path("runId").textValue();
      return new End(
          status,
          code,
          run == null || run.isEmpty() ? reply.structured().path("threadId").textValue() : run,
          reply.meta().path("fermata/run").path("version").intValue());
    }

    public boolean good() {
      return code == null && !status.equals(FAILED) && !status.equals(GIVEN_UP);
    }
  }
}
