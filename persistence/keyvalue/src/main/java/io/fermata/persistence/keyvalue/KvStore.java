package io.fermata.persistence.keyvalue;

import io.fermata.persistence.Store;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A key-value store of one's own, by which a host keeps its sessions where there is no database:
 * give it to {@link Store#keyValue(KvStore)}.
 *
 * <p>Every value has a version, anything that differs from write to write. A key that is not there
 * has none. All calls return at once; the stages may complete on any thread. A stage that fails, or
 * does not complete within ten seconds, leaves open whether the change was made.
 */
public interface KvStore {

  /** A value and the version it has. */
  final class Versioned {
    private final byte[] value;
    private final String version;

    public Versioned(byte[] value, String version) {
      this.value = value;
      this.version = version;
    }

    /** The bytes that were read, not a copy: they belong to whoever read them. */
    public byte[] value() {
      return value;
    }

    public String version() {
      return version;
    }

    @Override
    public String toString() {
      return "version " + version + ", " + value.length + " bytes";
    }
  }

  /** The value of a key as it was last written, empty if there is none. */
  CompletionStage<Optional<Versioned>> get(String key);

  /**
   * Writes a value if the key still has the version that is expected, in one step that nothing can
   * come between. When the stage completes the value is as safe as it will ever be: what is
   * acknowledged to a client rests on it.
   *
   * @param expectedVersion the version of the value that is replaced, null if there is to be none
   * @param timeToLive when the value may be dropped, null for never; a store that cannot let values
   *     expire ignores it
   * @return the version the value now has, empty if the key has another one than was expected and
   *     nothing was written
   */
  CompletionStage<Optional<String>> set(
      String key, byte[] value, @Nullable String expectedVersion, @Nullable Duration timeToLive);

  /** Removes a key and its value. To remove what is not there does nothing. */
  CompletionStage<@Nullable Void> delete(String key);

  /**
   * Whether {@link #set} compares and writes in one step. One that does not notices most writes of
   * another process, but not one that comes between; the host says so when it starts.
   */
  default boolean comparesInOneStep() {
    return true;
  }

  /** What messages call the store; nothing secret. */
  default String describe() {
    return getClass().getSimpleName();
  }
}
