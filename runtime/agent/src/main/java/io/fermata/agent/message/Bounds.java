package io.fermata.agent.message;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The bounds of a thread. Exceeding one is an error that changes nothing. */
public final class Bounds {
  /** A message or the result of a tool, in characters. */
  public static final int TEXT = 256 * 1024;

  /** Context and storage together, in characters of JSON. */
  public static final int STORAGE = 256 * 1024;

  /** One file, in bytes. */
  public static final int FILE = 1024 * 1024;

  public static final int FILES = 1_000;

  /** Messages waiting for the end of a step. */
  public static final int INBOX = 64;

  /** Metadata of a message, or data of an event, in characters of JSON. */
  public static final int DATA = 256 * 1024;

  /** Pending scheduled effects. */
  public static final int EFFECTS = 256;

  /** The arguments of all of them, in characters of JSON. */
  public static final int EFFECTS_ARGUMENTS = 256 * 1024;

  /** Children of one thread. */
  public static final int CHILDREN = 1_000;

  /** Calls of one step. */
  public static final int CALLS = 128;

  /** Calls that wait after they have left their steps. */
  public static final int DETACHED = 128;

  /** Levels of sub-prompts in a thread, and of threads below the one that a client began. */
  public static final int DEPTH = 8;

  /** The environment, in characters. */
  public static final int ENV = 64 * 1024;

  /** The key of a message or of an answer, in characters. */
  public static final int KEY = 255;

  public static final int TAGS = 32;

  public static final int TAG = 64;

  private Bounds() {}

  public static void requireData(String what, @Nullable JsonNode data) {
    if (!fits(data)) {
      throw new IllegalArgumentException(
          "The %s is longer than the %s characters of JSON that a thread accepts; store large data as files"
              .formatted(what, DATA));
    }
  }

  public static boolean fits(@Nullable JsonNode data) {
    return data == null || Json.text(data).length() <= DATA;
  }

  public static String text(String what, String text) {
    if (text.length() > TEXT) {
      throw new IllegalArgumentException(
          "A %s of %s characters is longer than the %s that a thread accepts"
              .formatted(what, text.length(), TEXT));
    }
    return Texts.sound(text);
  }

  public static @Nullable String shortened(@Nullable String text) {
    if (text == null || text.length() <= TEXT) {
      return text == null ? null : Texts.sound(text);
    }
    return Texts.shortened(text, TEXT - 100)
        + " (shortened, "
        + text.length()
        + " characters in all)";
  }

  /** A copy of an environment. A name or a value that is null is refused. */
  public static Map<String, String> env(Map<String, String> env) {
    Map<String, String> copy = new LinkedHashMap<>();
    Objects.requireNonNull(env, "env")
        .forEach(
            (name, value) ->
                copy.put(
                    Objects.requireNonNull(name, "env"),
                    Objects.requireNonNull(value, () -> "env." + name)));
    return Collections.unmodifiableMap(copy);
  }

  /** Refuses an environment that is too large for a thread. */
  public static void requireEnv(Map<String, String> env) {
    long size = 0;
    for (Map.Entry<String, String> entry : env.entrySet()) {
      size += entry.getKey().length() + entry.getValue().length();
    }
    if (size > ENV) {
      throw new IllegalArgumentException(
          "The environment of a thread holds %s characters and this makes %s".formatted(ENV, size));
    }
  }

  public static Set<String> tags(Collection<String> tags) {
    Set<String> all = new TreeSet<>();
    tags.forEach(tag -> all.add(Texts.sound(tag)));
    if (all.size() > TAGS || !all.stream().allMatch(Bounds::isTag)) {
      throw new IllegalArgumentException(
          "A thread has at most %s tags of 1 to %s characters, each one line".formatted(TAGS, TAG));
    }
    return all;
  }

  private static boolean isTag(String tag) {
    return !tag.isBlank() && tag.length() <= TAG && tag.chars().noneMatch(Character::isISOControl);
  }
}
