package io.fermata.session;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What a call asks of a run. */
enum Action {
  START,
  CONTINUE,
  RESET,
  STATUS,
  CANCEL;

  static final List<String> NAMES = Arrays.stream(values()).map(Action::wireName).toList();

  String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  static Optional<Action> named(String wireName) {
    return Arrays.stream(values()).filter(a -> a.wireName().equals(wireName)).findFirst();
  }
}
