package io.fermata.session.key;

import java.nio.charset.StandardCharsets;

/** Handles for tests of other modules. */
public final class TestHandles {
  private TestHandles() {}

  /** Handles of a store whose key depends only on its name. */
  public static Handles ofStore(String name) {
    return new Handles(name.getBytes(StandardCharsets.UTF_8));
  }
}
