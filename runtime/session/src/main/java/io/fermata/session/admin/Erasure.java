package io.fermata.session.admin;

import java.util.Objects;

/** What to erase from the store, including the runs and threads that belong to it. */
public sealed interface Erasure {

  /** Everything of a principal: the runs of every flow, registered or not, and all threads. */
  static Erasure principal(String principal) {
    return new Principal(principal);
  }

  /**
   * The runs of every flow in one session of a principal.
   *
   * @param session the handle from results, or the key that the client chose
   */
  static Erasure session(String principal, String session) {
    return new Session(principal, session);
  }

  /** A run, with the journal that it shares with the other runs of its flow and session. */
  static Erasure run(String flow, String runId) {
    return new Run(flow, runId);
  }

  /** A thread, the runs that it called, and the threads that it created. */
  static Erasure thread(String threadId) {
    return new Thread(threadId);
  }

  record Principal(String principal) implements Erasure {
    public Principal {
      Objects.requireNonNull(principal, "principal");
    }
  }

  record Session(String principal, String session) implements Erasure {
    public Session {
      Objects.requireNonNull(principal, "principal");
      Objects.requireNonNull(session, "session");
    }
  }

  record Run(String flow, String runId) implements Erasure {
    public Run {
      Objects.requireNonNull(flow, "flow");
      Objects.requireNonNull(runId, "runId");
    }
  }

  @SuppressWarnings("JavaLangClash") // the domain's name
  record Thread(String threadId) implements Erasure {
    public Thread {
      Objects.requireNonNull(threadId, "threadId");
    }
  }
}
