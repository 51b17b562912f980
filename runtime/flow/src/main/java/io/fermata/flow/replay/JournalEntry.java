package io.fermata.flow.replay;

import io.fermata.flow.json.Texts;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What was persisted at once in the journal of a run or a thread.
 *
 * @param seq its number in the journal of the session
 * @param at when it was written, in milliseconds of the epoch
 * @param by what caused it: {@code caller}, {@code signal}, {@code effect}, {@code timer} or {@code
 *     host}; {@link #ENCRYPTED} if nothing of it could be read
 * @param principal the caller; null for other causes
 * @param <E> its events: those of a run, or those of a thread
 */
public record JournalEntry<E>(
    long seq, long at, String by, @Nullable String principal, List<E> events) {
  /** What caused an entry of which nothing can be read for lack of its key. */
  public static final String ENCRYPTED = "encrypted";

  public JournalEntry {
    events = List.copyOf(events);
  }

  /** An entry of which nothing but its number can be read for lack of its key. */
  public static <E> JournalEntry<E> encrypted(long seq) {
    return new JournalEntry<>(seq, 0, ENCRYPTED, null, List.of());
  }

  /** The same with other events. */
  public JournalEntry<E> with(List<E> others) {
    return new JournalEntry<>(seq, at, by, principal, others);
  }

  /** What caused it, in words, on one line. */
  public String cause() {
    return principal == null ? by : by + " " + Texts.visible(principal);
  }

  /** Which entry it is, in words. */
  public String title() {
    return by.equals(ENCRYPTED)
        ? "entry %s is encrypted with a key that is not there".formatted(seq)
        : "entry %s (%s, %s)".formatted(seq, cause(), Instant.ofEpochMilli(at));
  }

  /** For logs, without what the run or the thread knows. */
  @Override
  public String toString() {
    return "entry %s (%s, %s) with %s event(s)"
        .formatted(seq, by, Instant.ofEpochMilli(at), events.size());
  }
}
