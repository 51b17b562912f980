package io.fermata.session.admin;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A fixed set of keys, written as {@code id:base64} of 32 bytes each, separated by commas or line
 * ends. The first encrypts, all of them decrypt: to rotate, put a new one first.
 */
public final class DataKeys implements KeyProvider {
  /** The environment variable that holds keys. */
  public static final String VARIABLE = "FERMATA_KEYS";

  /** The environment variable that names a file of keys. */
  public static final String FILE_VARIABLE = "FERMATA_KEYS_FILE";

  public static final int BYTES = 32;
  public static final Pattern ID = Pattern.compile("[A-Za-z0-9_-]{1,32}");

  private final String current;
  private final Map<String, byte[]> keys;

  private DataKeys(Map<String, byte[]> keys) {
    this.keys = keys;
    this.current = keys.keySet().iterator().next();
  }

  /**
   * Reads keys.
   *
   * @throws IllegalArgumentException if a key is invalid; the message contains its position, not
   *     the key
   */
  public static DataKeys parse(String text) {
    Map<String, byte[]> keys = new LinkedHashMap<>();
    for (String part : Objects.requireNonNull(text, "text").split("[,\\s]+", -1)) {
      if (!part.isEmpty()) {
        add(keys, part);
      }
    }
    if (keys.isEmpty()) {
      throw new IllegalArgumentException("There is no key; use id:base64 with 32 random bytes");
    }
    return new DataKeys(keys);
  }

  private static void add(Map<String, byte[]> keys, String part) {
    int colon = part.indexOf(':');
    String place = "Key number " + (keys.size() + 1);
    if (colon < 0 || !ID.matcher(part.substring(0, colon)).matches()) {
      throw new IllegalArgumentException(
          place + " has no id; use id:base64, with letters, digits, - and _ in the id");
    }
    String id = part.substring(0, colon);
    byte[] key;
    try {
      key = Base64.getDecoder().decode(part.substring(colon + 1));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("The key " + id + " is not valid base64", e);
    }
    if (key.length != BYTES) {
      throw new IllegalArgumentException(
          "The key " + id + " has " + key.length + " bytes; it needs " + BYTES);
    }
    if (keys.put(id, key) != null) {
      throw new IllegalArgumentException(
          "There are two keys " + id + "; use a different id for each");
    }
  }

  /** Reads keys from a file. */
  public static DataKeys file(Path file) {
    try {
      return parse(Files.readString(Objects.requireNonNull(file, "file")));
    } catch (NoSuchFileException e) {
      throw new UncheckedIOException(
          "The key file does not exist: " + file + "; put it there, or name another", e);
    } catch (IOException e) {
      throw new UncheckedIOException("The keys in " + file + " cannot be read", e);
    }
  }

  /**
   * The keys that the environment names, by {@code FERMATA_KEYS} or {@code FERMATA_KEYS_FILE}.
   *
   * @throws IllegalArgumentException if they are invalid; the message contains the variable, not
   *     the key
   */
  public static Optional<DataKeys> fromEnvironment() {
    return from(System.getenv());
  }

  static Optional<DataKeys> from(Map<String, String> environment) {
    String keys = environment.getOrDefault(VARIABLE, "");
    String file = environment.getOrDefault(FILE_VARIABLE, "");
    if (!keys.isBlank()) {
      return Optional.of(named(VARIABLE, () -> parse(keys)));
    }
    return file.isBlank()
        ? Optional.empty()
        : Optional.of(named(FILE_VARIABLE, () -> file(Path.of(file))));
  }

  private static DataKeys named(String variable, Supplier<DataKeys> keys) {
    try {
      return keys.get();
    } catch (IllegalArgumentException | UncheckedIOException e) {
      throw new IllegalArgumentException(variable + " cannot be used: " + e.getMessage(), e);
    }
  }

  /** A new random key, as {@link #parse} reads it. */
  public static String generate(String id) {
    if (!ID.matcher(Objects.requireNonNull(id, "id")).matches()) {
      throw new IllegalArgumentException(
          "A key's id consists of up to 32 letters, digits, - and _; " + id + "  does not");
    }
    byte[] key = new byte[BYTES];
    new SecureRandom().nextBytes(key);
    return id + ":" + Base64.getEncoder().encodeToString(key);
  }

  @Override
  public String current() {
    return current;
  }

  @Override
  public byte @Nullable [] key(String id) {
    byte[] key = keys.get(id);
    return key == null ? null : Arrays.copyOf(key, key.length);
  }

  @Override
  public Set<String> ids() {
    return Set.copyOf(keys.keySet());
  }

  @Override
  public String toString() {
    return "keys " + keys.keySet();
  }
}
