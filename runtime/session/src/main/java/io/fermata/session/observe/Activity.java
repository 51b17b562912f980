package io.fermata.session.observe;

import io.fermata.session.call.ToolReply;
import io.fermata.session.key.TraceContext;
import org.jspecify.annotations.Nullable;

/** A timed operation that was reported to a {@link Telemetry}. */
public interface Activity {
  /** An activity that is not timed. */
  Activity NONE = new Activity() {};

  /** The trace context to propagate to work that it causes. */
  default TraceContext context() {
    return TraceContext.NONE;
  }

  /**
   * Makes it the current activity of this thread, until the result is closed on the same thread.
   */
  default Entered enter() {
    return Entered.NOWHERE;
  }

  /** It has ended. Called once, on any thread. */
  default void end(End end) {}

  /** The scope of an activity on a thread. */
  @FunctionalInterface
  interface Entered extends AutoCloseable {
    Entered NOWHERE = () -> {};

    @Override
    void close();
  }

  /**
   * How it ended.
   *
   * @param status the status of the reply; for an effect {@code ok}, {@code rejected}, {@code
   *     failed} or {@code cancelled}
   * @param code the error code, null for none
   * @param run the run or thread that it belonged to, if that was not known at the start
   * @param version the version of the run's flow; 0 if unknown
   */
  record End(String status, @Nullable String code, @Nullable String run, int version) {
    public static final String OK = "ok";
    public static final String REJECTED = "rejected";
    public static final String FAILED = "failed";
    public static final String CANCELLED = "cancelled";

    public static End of(String status) {
      return new End(status, null, null, 0);
    }

    /** The end of a call, from its reply. */
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

    /** The end of a call whose run works on, which is all that its caller wanted. */
    public End begun() {
      return new End("working", null, run, version);
    }

    public boolean good() {
      return code == null && !status.equals(FAILED) && !status.equals(CANCELLED);
    }
  }
}
