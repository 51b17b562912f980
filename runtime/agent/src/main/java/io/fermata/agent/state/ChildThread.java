package io.fermata.agent.state;

import com.fasterxml.jackson.databind.EnumNamingStrategies;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.Usage;

/**
 * A thread that another one created.
 *
 * @param relation the name under which the parent knows it
 * @param note the number of its latest report
 * @param usage what it and its own children are known to have spent
 * @param side the side that put it to work last
 */
public record ChildThread(
    String threadId,
    String relation,
    String agent,
    Status status,
    String note,
    Usage usage,
    Side side) {

  /** The status of a child. */
  @EnumNaming(EnumNamingStrategies.SnakeCaseStrategy.class)
  public enum Status {
    RUNNING,
    /** A person is asked in it, or in a thread that it waits for. */
    ASKING,
    /** Its turn waits for moments, signals or other people, in it or in such a thread. */
    WAITING,
    IDLE,
    FAILED
  }

  /** Whether it has something to do, and nothing that works on it. */
  boolean pauses() {
    return status == Status.ASKING || status == Status.WAITING;
  }

  /** Whether it has done what it was to do. */
  public boolean rests() {
    return status == Status.IDLE || status == Status.FAILED;
  }

  ChildThread now(Status newStatus, String newNote) {
    return new ChildThread(threadId, relation, agent, newStatus, newNote, usage, side);
  }

  /** A side gives it more to do. */
  ChildThread resumed(Side by) {
    Status working = rests() ? Status.RUNNING : status;
    return new ChildThread(threadId, relation, agent, working, note, usage, by);
  }

  ChildThread spent(Usage total) {
    return new ChildThread(threadId, relation, agent, status, note, total, side);
  }
}
