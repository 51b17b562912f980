package io.fermata.agent.state;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The data that author code stores with a thread.
 *
 * @param context the context of the conversation
 * @param storage a small key-value storage
 * @param status the status text for subscribers
 */
public record ThreadStorage(
    Map<String, JsonNode> context,
    Map<String, JsonNode> storage,
    Map<String, String> env,
    Set<String> tags,
    Map<String, StoredFile> files,
    @Nullable String status) {

  /**
   * A file of a thread, whose bytes are in the journal.
   *
   * @param seq the journal entry with the bytes
   * @param index the index of the event in the entry
   */
  public record StoredFile(String path, String mimeType, long size, long at, long seq, int index) {}

  static final ThreadStorage EMPTY =
      new ThreadStorage(Map.of(), Map.of(), Map.of(), Set.of(), Map.of(), null);

  /** Without the values of author code. */
  ThreadStorage outline() {
    return new ThreadStorage(Map.of(), Map.of(), Map.of(), tags, files, status);
  }

  ThreadStorage inContext(String key, @Nullable JsonNode value) {
    return new ThreadStorage(
        ThreadState.put(context, key, value), storage, env, tags, files, status);
  }

  ThreadStorage stored(String key, @Nullable JsonNode value) {
    return new ThreadStorage(
        context, ThreadState.put(storage, key, value), env, tags, files, status);
  }

  ThreadStorage inEnv(String key, @Nullable String value) {
    return new ThreadStorage(
        context, storage, ThreadState.put(env, key, value), tags, files, status);
  }

  ThreadStorage tagged(Set<String> newTags) {
    return new ThreadStorage(context, storage, env, Set.copyOf(newTags), files, status);
  }

  ThreadStorage withStatus(@Nullable String text) {
    return new ThreadStorage(context, storage, env, tags, files, text);
  }

  ThreadStorage withFile(String path, @Nullable StoredFile file) {
    return new ThreadStorage(
        context, storage, env, tags, ThreadState.put(files, path, file), status);
  }
}
