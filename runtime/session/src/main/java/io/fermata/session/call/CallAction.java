package io.fermata.session.call;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What a call asks of a run. */
public enum CallAction {
  START,
  CONTINUE,
  RESET,
  STATUS,
  CANCEL,
  /** Something happened outside. No client may say this: it comes from the host's own side. */
  SIGNAL;

  private static final List<CallAction> CLIENTS = List.of(START, CONTINUE, RESET, STATUS, CANCEL);

  static final List<String> NAMES = CLIENTS.stream().map(CallAction::wireName).toList();

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  static Optional<CallAction> named(String wireName) {
    return CLIENTS.stream().filter(a -> a.wireName().equals(wireName)).findFirst();
  }
}
