package io.fermata.persistence.directory;

import java.util.Map;
import java.util.Set;

/** The bounds of directory entries and queries. */
final class DirectoryLimits {

  static final int PERSISTENCE_ID = 1024;
  static final int KIND = 64;
  static final int PRINCIPAL = 256;
  static final int NAME = 256;
  static final int SESSION = 256;
  static final int STATUS = 64;
  static final int TAGS = 32;
  static final int TAG = 64;
  static final int ATTRIBUTES = 32;
  static final int ATTRIBUTE = 64;
  static final int VALUE = 1024;
  static final int TEXT = 256;
  static final int PAGE = 500;

  private static final int QUOTED = 40;

  private DirectoryLimits() {}

  static void persistenceId(String persistenceId) {
    required("persistence id", persistenceId, PERSISTENCE_ID);
  }

  static void kind(String kind) {
    required("kind", kind, KIND);
  }

  static void principal(String principal) {
    atMost("principal", principal, PRINCIPAL);
  }

  static void name(String name) {
    atMost("name", name, NAME);
  }

  static void session(String session) {
    atMost("session", session, SESSION);
  }

  static void status(String status) {
    atMost("status", status, STATUS);
  }

  static void text(String text) {
    atMost("text to search for", text, TEXT);
  }

  static void tags(Set<String> tags) {
    count("tags", tags.size(), TAGS);
    tags.forEach(tag -> required("tag", tag, TAG));
  }

  static void attributes(Map<String, String> attributes) {
    count("attributes", attributes.size(), ATTRIBUTES);
    attributes.forEach(
        (name, value) -> {
          required("name of an attribute", name, ATTRIBUTE);
          atMost("value of the attribute " + quoted(name), value, VALUE);
        });
  }

  static void page(int limit) {
    if (limit < 1 || limit > PAGE) {
      throw new IllegalArgumentException(
          "A page of "
              + limit
              + " entries is refused; request 1 to "
              + PAGE
              + " and continue with the cursor");
    }
  }

  private static void count(String what, int count, int most) {
    if (count > most) {
      throw new IllegalArgumentException(
          "There are " + count + " " + what + ", at most " + most + " are allowed; remove some");
    }
  }

  private static void required(String what, String text, int most) {
    if (text.isBlank()) {
      throw new IllegalArgumentException(
          "The " + what + " is blank; use 1 to " + most + " characters");
    }
    atMost(what, text, most);
  }

  private static void atMost(String what, String text, int most) {
    if (text.length() > most) {
      throw new IllegalArgumentException(
          "The "
              + what
              + " "
              + quoted(text)
              + " has "
              + text.length()
              + " characters, at most "
              + most
              + " are allowed; shorten it");
    }
    // PostgreSQL cannot store it in a text.
    if (text.indexOf('\0') >= 0) {
      throw new IllegalArgumentException(
          "The " + what + " contains the character with the code 0; remove it");
    }
  }

  private static String quoted(String text) {
    return "\"" + (text.length() > QUOTED ? text.substring(0, QUOTED) + "…" : text) + "\"";
  }
}
