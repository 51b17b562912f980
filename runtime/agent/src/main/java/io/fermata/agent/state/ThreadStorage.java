package io.fermata.agent.state;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What authors' code keeps with a thread.
 *
 * @param context goes along with the conversation
 * @param storage a small store of keys and values
 * @param status how things stand, for those who watch
 */
public record ThreadStorage(
    Map<String, JsonNode> context,
    Map<String, JsonNode> storage,
    Map<String, String> env,
    Set<String> tags,
    Map<String, StoredFile> files,
    @Nullable String status) {

  /**
   * A file of a thread; the journal has its bytes.
   *
   * @param seq the record of the journal that they are in
   * @param index the place in it of the event that has them
   */
  public record StoredFile(String path, String mimeType, long size, long at, long seq, int index) {}

  static final ThreadStorage EMPTY =
      new ThreadStorage(Map.of(), Map.of(), Map.of(), Set.of(), Map.of(), null);

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
