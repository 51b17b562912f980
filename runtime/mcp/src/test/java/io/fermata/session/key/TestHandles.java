package io.fermata.session.key;

import java.nio.charset.StandardCharsets;

/** Handles for tests of rooms that see them from outside only. */
public final class TestHandles {
  private TestHandles() {}

  /** Handles of a store whose key depends on nothing but its name. */
  public static Handles ofStore(String name) {
    return new Handles(name.getBytes(StandardCharsets.UTF_8));
  }
}
