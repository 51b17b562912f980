package io.fermata.agent.state;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.PersistentMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The data that author code stores with a thread.
 *
 * @param context the context of the conversation
 * @param storage a small key-value storage
 * @param status the status text for subscribers
 * @param size how many characters context and storage have as text, which is not stored
 */
public record ThreadStorage(
    Map<String, JsonNode> context,
    Map<String, JsonNode> storage,
    Map<String, String> env,
    Set<String> tags,
    Map<String, StoredFile> files,
    @Nullable String status,
    @JsonIgnore long size) {
  public ThreadStorage {
    context = PersistentMap.copyOf(context);
    storage = PersistentMap.copyOf(storage);
    size = size == 0 ? size(context) + size(storage) : size;
  }

  /**
   * A file of a thread, whose bytes are in the journal.
   *
   * @param seq the journal entry with the bytes
   * @param index the index of the event in the entry
   * @param digest distinguishes files by their type and bytes
   */
  public record StoredFile(
      String path, String mimeType, long size, long at, long seq, int index, String digest) {
    StoredFile movedTo(String other) {
      return new StoredFile(other, mimeType, size, at, seq, index, digest);
    }
  }

  static final ThreadStorage EMPTY = begun(Map.of(), Set.of());

  static ThreadStorage begun(Map<String, String> env, Set<String> tags) {
    return new ThreadStorage(Map.of(), Map.of(), env, tags, Map.of(), null, 0);
  }

  /** Without the values of author code. */
  ThreadStorage outline() {
    return new ThreadStorage(Map.of(), Map.of(), Map.of(), tags, files, status, 0);
  }

  ThreadStorage inContext(String key, @Nullable JsonNode value) {
    return new ThreadStorage(
        put(context, key, value), storage, env, tags, files, status, sizeWith(context, key, value));
  }

  ThreadStorage stored(String key, @Nullable JsonNode value) {
    return new ThreadStorage(
        context, put(storage, key, value), env, tags, files, status, sizeWith(storage, key, value));
  }

  private static Map<String, JsonNode> put(
      Map<String, JsonNode> values, String key, @Nullable JsonNode value) {
    return value == null
        ? PersistentMap.without(values, key)
        : PersistentMap.with(values, key, value);
  }

  private long sizeWith(Map<String, JsonNode> values, String key, @Nullable JsonNode value) {
    return size - size(key, values.get(key)) + size(key, value);
  }

  private static long size(Map<String, JsonNode> values) {
    return values.entrySet().stream().mapToLong(each -> size(each.getKey(), each.getValue())).sum();
  }

  private static long size(String key, @Nullable JsonNode value) {
    return value == null ? 0 : key.length() + Json.text(value).length();
  }

  ThreadStorage inEnv(String key, @Nullable String value) {
    return new ThreadStorage(
        context, storage, ThreadState.put(env, key, value), tags, files, status, size);
  }

  ThreadStorage tagged(Set<String> newTags) {
    return new ThreadStorage(context, storage, env, Set.copyOf(newTags), files, status, size);
  }

  ThreadStorage withStatus(@Nullable String text) {
    return new ThreadStorage(context, storage, env, tags, files, text, size);
  }

  /** The digests of files; a missing one has none. */
  List<String> digests(List<String> paths) {
    return paths.stream().map(files::get).filter(Objects::nonNull).map(StoredFile::digest).toList();
  }

  ThreadStorage withFile(String path, @Nullable StoredFile file) {
    return new ThreadStorage(
        context, storage, env, tags, ThreadState.put(files, path, file), status, size);
  }
}
