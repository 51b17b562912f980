package io.fermata.persistence.keyvalue;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * An application's own key-value store, for sessions where there is no database: pass it to {@link
 * KeyValueStore#of(KvStore)}.
 *
 * <p>Every value has a version, which differs from write to write. An absent key has none. All
 * calls return at once; the stages may complete on any thread. If a stage fails, or does not
 * complete within ten seconds, it is unknown whether the change was made.
 */
public interface KvStore {

  /**
   * A value and its version.
   *
   * @param value the bytes that were read, not a copy
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Versioned(byte[] value, String version) {
    @Override
    public String toString() {
      return "version " + version + ", " + value.length + " bytes";
    }
  }

  /**
   * Some of the keys of a store.
   *
   * @param next where to continue; empty after the last portion
   */
  record KeyPage(List<String> keys, String next) {
    public KeyPage {
      keys = List.copyOf(keys);
    }
  }

  /** The latest value of a key, empty if there is none. */
  CompletionStage<Optional<Versioned>> get(String key);

  /**
   * Writes a value if the key has the expected version, atomically; a store that does not {@link
   * #compares compare} writes it in any case. When the stage completes, the value must be durable:
   * acknowledgements to clients depend on it.
   *
   * @param expectedVersion the version of the value to replace, null if the key must be absent
   * @param timeToLive after which time the value may be dropped, null for never; a store without
   *     expiry ignores it
   * @return the new version, empty if the key had another version and nothing was written
   */
  CompletionStage<Optional<String>> set(
      String key, byte[] value, @Nullable String expectedVersion, @Nullable Duration timeToLive);

  /** Removes a key and its value. Removing an absent key does nothing. */
  CompletionStage<@Nullable Void> delete(String key);

  /**
   * Some of the keys that begin with a prefix, so that all sessions can be verified. A key that is
   * there from the first portion to the last is in one of them, or in several.
   *
   * @param after empty for the first portion, otherwise {@link KeyPage#next} of the one before
   * @return empty if the store cannot list its keys; then a verification reads only the sessions
   *     that have work to do
   */
  default CompletionStage<Optional<KeyPage>> keys(String prefix, String after) {
    return CompletableFuture.completedStage(Optional.empty());
  }

  /**
   * Whether {@link #set} compares the version and writes atomically. If it does not, Fermata reads
   * the version before it writes and can miss what another process writes between both; the host
   * warns of that when it starts.
   */
  default boolean compares() {
    return true;
  }

  /** The name of the store in messages, without secrets. */
  default String describe() {
    return getClass().getSimpleName();
  }
}
