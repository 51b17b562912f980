package io.fermata.flow.replay;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import org.jspecify.annotations.Nullable;

/**
 * How a run is forked: {@link #live}, {@link #replayEffects} or {@link #sandbox}, and what is
 * otherwise than in its source.
 *
 * <pre>{@code
 * ForkOptions.sandbox().answer("city", "Paris").onNewestVersion()
 * }</pre>
 *
 * @param answers the answers that the fork has beside or instead of those of its source, by field
 * @param version the version of its flow that the fork continues on, even if the host has that of
 *     its source; {@link #NEWEST} for the newest; null for that of its source
 * @param by the principal who forks; null for the owner of the source
 */
public record ForkOptions(
    ForkOrigin.Mode mode, ObjectNode answers, @Nullable Integer version, @Nullable String by) {
  /** The newest version that the host has. */
  public static final int NEWEST = Integer.MAX_VALUE;

  /** The fork performs its effects, as any run does. */
  public static ForkOptions live() {
    return of(ForkOrigin.Mode.LIVE);
  }

  /**
   * The fork takes the results of effects from its source, each once, as long as it asks for the
   * same with the same input. From the first effect on for which that is not so, it performs all of
   * them.
   */
  public static ForkOptions replayEffects() {
    return of(ForkOrigin.Mode.REPLAY_EFFECTS);
  }

  /**
   * The fork performs no effect. It takes the results that its source has of the same effects with
   * the same input; at any other it stops, with the code {@code sandboxed} and the effect's input.
   */
  public static ForkOptions sandbox() {
    return of(ForkOrigin.Mode.SANDBOX);
  }

  public static ForkOptions of(ForkOrigin.Mode mode) {
    return new ForkOptions(mode, Json.object(), null, null);
  }

  /**
   * Answers the question that is open at the entry, or one that is still to be asked, or one that
   * was asked before otherwise than the source.
   */
  public ForkOptions answer(String field, Object value) {
    return answers(Json.object().set(field, Json.tree(value)));
  }

  /** As {@link #answer}, for several fields. */
  public ForkOptions answers(ObjectNode values) {
    ObjectNode all = answers.deepCopy();
    all.setAll(values);
    return new ForkOptions(mode, all, version, by);
  }

  /** The fork is carried over to the newest version of its flow. */
  public ForkOptions onNewestVersion() {
    return onVersion(NEWEST);
  }

  /** The fork is carried over to this version of its flow, one of those that the host has. */
  public ForkOptions onVersion(int number) {
    return new ForkOptions(mode, answers, number, by);
  }

  /** The principal who forks, for the journal of the fork. */
  public ForkOptions by(String principal) {
    return new ForkOptions(mode, answers, version, principal);
  }
}
