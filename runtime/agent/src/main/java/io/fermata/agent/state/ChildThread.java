package io.fermata.agent.state;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.fermata.agent.model.Usage;

/**
 * A thread that another one created.
 *
 * @param relation the name under which the parent knows it
 * @param note the number of its latest report
 * @param usage what it and its own children are known to have spent
 */
public record ChildThread(
    String threadId, String relation, String agent, Status status, String note, Usage usage) {

  /** The status of a child. */
  public enum Status {
    @JsonProperty("running")
    RUNNING,
    /** A person is asked in it, or in a thread that it waits for. */
    @JsonProperty("asking")
    ASKING,
    @JsonProperty("idle")
    IDLE,
    @JsonProperty("failed")
    FAILED
  }

  ChildThread now(Status newStatus, String newNote) {
    return new ChildThread(threadId, relation, agent, newStatus, newNote, usage);
  }

  ChildThread spent(Usage total) {
    return new ChildThread(threadId, relation, agent, status, note, total);
  }
}
