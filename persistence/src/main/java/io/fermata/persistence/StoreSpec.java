package io.fermata.persistence;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** Reads the one-line form of a store, as it stands in {@code FERMATA_STORE}. */
final class StoreSpec {

  static final String VARIABLE = "FERMATA_STORE";

  private static final String MEMORY = "memory";
  private static final String SQLITE = "sqlite:";
  private static final String CHOICES =
      "choose \"memory\" (for tests, nothing survives the process)"
          + ", \"sqlite:<file>\", for example \"sqlite:fermata.db\", or"
          + " \"postgres://<user>@<host>/<database>\"";

  private StoreSpec() {}

  static Optional<Store> fromEnvironment(Map<String, String> environment) {
    return Optional.ofNullable(environment.get(VARIABLE))
        .filter(spec -> !spec.isBlank())
        .map(StoreSpec::parse);
  }

  static Store parse(String spec) {
    String trimmed = spec.strip();
    if (trimmed.equals(MEMORY)) {
      return Store.memory();
    }
    if (trimmed.startsWith(SQLITE)) {
      return Store.sqlite(file(spec, trimmed.substring(SQLITE.length())));
    }
    if (PostgresAddress.matches(trimmed)) {
      return Store.postgres(trimmed);
    }
    throw refused(spec, "there is no such store");
  }

  private static Path file(String spec, String name) {
    if (name.isBlank()) {
      throw refused(spec, "it names no file");
    }
    if (name.equals(":memory:")) {
      throw refused(spec, "a database in memory would lose every journal");
    }
    try {
      return Path.of(name);
    } catch (InvalidPathException invalid) {
      throw refused(spec, "it is not a file name: " + invalid.getReason());
    }
  }

  private static IllegalArgumentException refused(String spec, String reason) {
    return new IllegalArgumentException(
        "The store \"" + spec + "\" cannot be used, " + reason + "; " + CHOICES);
  }
}
