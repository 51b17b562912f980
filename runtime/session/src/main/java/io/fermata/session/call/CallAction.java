package io.fermata.session.call;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The action of a call. */
public enum CallAction {
  START,
  CONTINUE,
  RESET,
  STATUS,
  CANCEL,
  /** Puts questions off: the fields of its updates. Clients cannot send it; the host does. */
  POSTPONE,
  /** A signal from outside. Clients cannot send it; the host does. */
  SIGNAL,
  /** The beginning of a fork of another run. Clients cannot send it; the host does. */
  FORK;

  private static final List<CallAction> CLIENTS = List.of(START, CONTINUE, RESET, STATUS, CANCEL);

  static final List<String> NAMES = CLIENTS.stream().map(CallAction::wireName).toList();

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  static Optional<CallAction> named(String wireName) {
    return CLIENTS.stream().filter(a -> a.wireName().equals(wireName)).findFirst();
  }
}
