package io.fermata.agent.replay;

import io.fermata.agent.Agent;
import io.fermata.agent.history.HistoryReader;
import io.fermata.agent.message.Message;
import io.fermata.agent.state.EarlierEntries;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.picture.SequenceDiagram;
import io.fermata.flow.replay.JournalEntry;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The journal of one thread: what happened, in which entries, and who caused them. A value, which
 * calls no code of an agent. Its entries, events, messages and state have the values of the thread;
 * its texts show none that {@link ThreadSecrets} finds, unless their names say so.
 *
 * <pre>{@code
 * ThreadJournal journal = host.journals().thread(threadId).readWithSecrets()
 *     .toCompletableFuture().join();
 * journal.upTo(7).state();                          // the state after entry 7
 * journal.transcript(agents);                       // the conversation
 * journal.narrative(agents);                        // every entry, in words
 * journal.picture(agents).mermaid();                // who said what to whom, as a diagram
 * journal.why(agents, "s3.0");                      // why a tool was called, and what came of it
 * ThreadReplay.of(agents, journal).requireSame();   // today's code decides the same
 * }</pre>
 *
 * @param agent the agent that the thread began with
 * @param redacted whether entries are encrypted with a key that was not there when it was read;
 *     such a journal can be looked at, but not decided again
 * @param cut whether entries that followed were {@linkplain #upTo left out}, so that its end is not
 *     that of the thread
 */
public record ThreadJournal(
    String agent,
    String threadId,
    List<JournalEntry<ThreadEvent>> entries,
    boolean redacted,
    boolean cut) {
  public ThreadJournal {
    entries = List.copyOf(entries);
  }

  public ThreadJournal(String agent, String threadId, List<JournalEntry<ThreadEvent>> entries) {
    this(agent, threadId, entries, false);
  }

  public ThreadJournal(
      String agent, String threadId, List<JournalEntry<ThreadEvent>> entries, boolean redacted) {
    this(agent, threadId, entries, redacted, false);
  }

  /** The journal as it was when an entry had been written; {@link #cut} if others followed. */
  public ThreadJournal upTo(long seq) {
    List<JournalEntry<ThreadEvent>> kept =
        entries.stream().filter(entry -> entry.seq() <= seq).toList();
    return new ThreadJournal(agent, threadId, kept, redacted, cut || kept.size() < entries.size());
  }

  /**
   * This journal, if nothing of it is redacted.
   *
   * @throws IllegalStateException if something is
   */
  public ThreadJournal whole() {
    if (redacted) {
      throw new IllegalStateException(
          "The journal of thread %s was read without the key that encrypts it: it cannot be decided again. Configure that key, or record the thread where the key is"
              .formatted(threadId));
    }
    return this;
  }

  /** The entries as {@link ThreadReplayer} reads them. */
  public EarlierEntries earlier() {
    NavigableMap<Long, List<ThreadEvent>> bySeq = new TreeMap<>();
    entries.forEach(entry -> bySeq.put(entry.seq(), entry.events()));
    return EarlierEntries.of(bySeq);
  }

  public List<ThreadEvent> events() {
    return entries.stream().flatMap(entry -> entry.events().stream()).toList();
  }

  /** The state of the thread at its end. */
  public ThreadState state() {
    ThreadState state = ThreadState.NONE;
    for (JournalEntry<ThreadEvent> entry : entries) {
      state = state.apply(entry.events(), entry.seq());
    }
    return state;
  }

  /** All messages of the conversation, the oldest first. */
  public List<Message> messages() {
    HistoryReader reader = new HistoryReader(null, Integer.MAX_VALUE, 0);
    for (int i = entries.size() - 1; i >= 0; i--) {
      reader.take(entries.get(i).events());
    }
    List<Message> messages = new ArrayList<>(reader.messages());
    Collections.reverse(messages);
    return List.copyOf(messages);
  }

  /**
   * The conversation as text, a line for each message. Control and format characters, such as the
   * ends of its own lines, are escaped as JSON has them.
   *
   * @param by the agents whose tools say which arguments are secret
   */
  public String transcript(Collection<Agent> by) {
    return transcript(ThreadAccount.without(secrets(by)));
  }

  /** As {@link #transcript}, with the values of secret arguments and answers. */
  public String transcriptWithSecrets() {
    return transcript(ThreadAccount.withSecrets());
  }

  private String transcript(ThreadAccount account) {
    return messages().stream().map(account::line).collect(Collectors.joining("\n"));
  }

  /**
   * What happened, entry by entry, in English: a line for each entry and each of its events.
   * Control and format characters are escaped as JSON has them.
   *
   * @param by the agents whose tools say which arguments are secret
   */
  public String narrative(Collection<Agent> by) {
    return narrative(ThreadAccount.without(secrets(by)));
  }

  /** As {@link #narrative}, with the values of secret arguments and answers. */
  public String narrativeWithSecrets() {
    return narrative(ThreadAccount.withSecrets());
  }

  private String narrative(ThreadAccount account) {
    return entries.stream()
        .map(
            entry ->
                entry.events().stream()
                    .map(event -> "\n  " + account.of(event))
                    .collect(Collectors.joining("", entry.title(), "")))
        .collect(Collectors.joining("\n"));
  }

  /**
   * The conversation as a sequence diagram: who said what, which tools were called and what they
   * returned, what people were asked and answered, what failed, and where the thread stands. Each
   * text begins with the number of its entry. Of a long thread the middle is left out, which the
   * diagram says.
   *
   * @param by the agents whose tools say which arguments are secret
   */
  public SequenceDiagram picture(Collection<Agent> by) {
    return ThreadPicture.of(this, ThreadAccount.without(secrets(by)));
  }

  /** As {@link #picture}, with the values of secret arguments and answers. */
  public SequenceDiagram pictureWithSecrets() {
    return ThreadPicture.of(this, ThreadAccount.withSecrets());
  }

  /**
   * Why the thread stands where it does at its end: what made it stop, what it waits for, or what
   * it does, back to what was said to it.
   *
   * @param by the agents whose tools say which arguments are secret
   */
  public ThreadCause why(Collection<Agent> by) {
    return ThreadCauses.standing(this, ThreadAccount.without(secrets(by)));
  }

  /** As {@link #why(Collection)}, with the values of secret arguments and answers. */
  public ThreadCause whyWithSecrets() {
    return ThreadCauses.standing(this, ThreadAccount.withSecrets());
  }

  /**
   * Why a call was made and came to what it did, why a message was said, or why a variable has its
   * value, back to what was said to the thread.
   *
   * @param what a call, by its key in the narrative or the id that its model gave it; a message, by
   *     its id; or a variable: {@code storage.} and its name, {@code context.} or {@code env.}
   * @throws IllegalArgumentException if the journal has nothing of that name
   */
  public ThreadCause why(Collection<Agent> by, String what) {
    return ThreadCauses.of(this, ThreadAccount.without(secrets(by)), what);
  }

  /** As {@link #why(Collection, String)}, with the values of secret arguments and answers. */
  public ThreadCause whyWithSecrets(String what) {
    return ThreadCauses.of(this, ThreadAccount.withSecrets(), what);
  }

  private ThreadSecrets secrets(Collection<Agent> by) {
    ThreadSecrets secrets = ThreadSecrets.of(by);
    events().forEach(secrets::learn);
    return secrets;
  }

  /** For logs, without what was said. */
  @Override
  public String toString() {
    return "thread %s of %s with %s entries%s"
        .formatted(threadId, agent, entries.size(), cut ? ", cut there" : "");
  }
}
