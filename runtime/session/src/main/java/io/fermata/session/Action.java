package io.fermata.session;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What a call asks of a run. */
enum Action {
  START,
  CONTINUE,
  RESET,
  STATUS,
  CANCEL,
  /** Something happened outside. No client may say this: it comes from the host's own side. */
  SIGNAL;

  private static final List<Action> CLIENTS = List.of(START, CONTINUE, RESET, STATUS, CANCEL);

  static final List<String> NAMES = CLIENTS.stream().map(Action::wireName).toList();

  String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  static Optional<Action> named(String wireName) {
    return CLIENTS.stream().filter(a -> a.wireName().equals(wireName)).findFirst();
  }
}
