package io.fermata.agent.state;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The results that a fork has of its source: of effects that ended there after the entry at which
 * it was forked. Steps, calls and scheduled work have the same ids in both, for as long as the
 * models of the fork are asked the same. With the first one that is asked something else the fork
 * has no results any more. Until then it has all of them, as no id is used twice.
 *
 * @param byEffect by {@linkplain ThreadEffect#delivery kind and id}
 */
public record SourceResults(Map<String, SourceResult> byEffect) {
  public static final SourceResults NONE = new SourceResults(Map.of());

  public SourceResults {
    byEffect = Collections.unmodifiableMap(new LinkedHashMap<>(byEffect));
  }

  /** The reply to a step that asks this; null if there is none. */
  public SourceResult.@Nullable Reply reply(String step, @Nullable RequestDigest asked) {
    return asked != null
            && byEffect.get(key(ThreadEffect.Kind.STEP, step)) instanceof SourceResult.Reply reply
            && reply.asked().fits(asked)
        ? reply
        : null;
  }

  /**
   * What an effect did; null if that is not known.
   *
   * @param wanted what it is to do; asked for only if something is known of the effect
   */
  public SourceResult.@Nullable Work work(ThreadEffect effect, IntSupplier wanted) {
    return byEffect.get(key(effect.kind(), effect.id())) instanceof SourceResult.Work work
            && work.wanted() == wanted.getAsInt()
        ? work
        : null;
  }

  /** The summary that an effect made; null if there is none. */
  public SourceResult.@Nullable Summary summary(String id) {
    return byEffect.get(key(ThreadEffect.Kind.COMPACT, id)) instanceof SourceResult.Summary known
        ? known
        : null;
  }

  /** Whether a summary is one of them. */
  public boolean has(ThreadEvent.Compacted made) {
    return byEffect.values().stream()
        .anyMatch(
            each ->
                each instanceof SourceResult.Summary known
                    && known.summary().equals(made.summary())
                    && known.upTo().equals(made.upTo()));
  }

  /** Whether an event shows that a model of the fork was asked something else. */
  boolean endWith(ThreadEvent event) {
    return event instanceof ThreadEvent.StepFailed
        || (event instanceof ThreadEvent.StepEnded e
            && reply(e.log().id(), e.log().asked()) == null);
  }

  /** The key of an effect. */
  public static String key(ThreadEffect.Kind kind, String id) {
    return ThreadEffect.delivery(kind, id);
  }
}
