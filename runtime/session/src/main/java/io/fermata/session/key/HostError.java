package io.fermata.session.key;

import io.fermata.flow.event.Outcome;
import io.fermata.persistence.spi.DamagedException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The stable names of errors outside of a run; a run has its own error codes. */
public enum HostError {
  INVALID_ARGUMENTS(
      Kind.REFUSED,
      "The call's arguments do not fit the tool's input schema",
      "Correct what is named in violations and call again"),
  MISSING_SESSION(
      Kind.REFUSED,
      "The call names no session",
      "Send the sessionId of an earlier result, or start a run"),
  UNKNOWN_SESSION(
      Kind.REFUSED,
      "The sessionId is not one that this server gave out",
      "Send the sessionId of an earlier result unchanged, or start a run without one"),
  STALE_CALL(
      Kind.REFUSED,
      "The run has moved on since the state that the call refers to",
      "Read the open question and answer that"),
  KEY_USED(
      Kind.REFUSED,
      "The fermata/callId was used for another request; nothing was done",
      "Send this request with a new one"),
  NEEDS_PERSON(
      Kind.REFUSED,
      "A person must decide about this approval, not a model; nothing was decided",
      "Tell the user that it has to be decided outside this conversation, or in a client that shows"
          + " forms"),
  BUSY(
      Kind.TEMPORARY,
      "Too many calls of this session are waiting",
      "Call again when one of them has returned"),
  STILL_WORKING(
      Kind.HANDLED,
      "The run is still working and continues in the background",
      "Call again with action continue and no stateUpdates to fetch the outcome"),
  OVERLOADED(
      Kind.TEMPORARY,
      "The server has more calls than it can handle in time",
      "Call again a little later"),
  TOO_MANY_RUNS(
      Kind.REFUSED,
      "The caller has as many unfinished runs as it may",
      "Finish or cancel one of them first"),
  TOO_MANY_THREADS(
      Kind.REFUSED, "The caller has as many threads as it may", "Delete one of them first"),
  STORE_UNAVAILABLE(
      Kind.TEMPORARY,
      "The session's journal could not be read or written",
      "Call again with the same arguments; what was not acknowledged may be missing"),
  KEY_MISSING(
      Kind.UNREADABLE,
      "The session is encrypted with a key that the server does not have",
      "Configure the key again; the session is unchanged and continues with the next call"),
  DECRYPTION_FAILED(
      Kind.UNREADABLE,
      "The stored data of the session cannot be decrypted: it is not what the server wrote",
      "Restore the store, or start a new session"),
  JOURNAL_UNREADABLE(
      Kind.UNREADABLE,
      "The session's journal has an entry that this release cannot read; the journal is unchanged",
      "Use the release that wrote it, or a newer one; or start a new session"),
  DAMAGED(
      Kind.UNREADABLE,
      "The session's journal is damaged: it is not what the server wrote",
      "Restore the store from a backup, or start a new session"),
  MOVED(
      Kind.TEMPORARY,
      "The session is moving to another host, or its host was lost",
      "Call again with the same arguments; what was not acknowledged may be missing"),
  CALL_TOO_LARGE(
      Kind.REFUSED,
      "The call is larger than hosts of a cluster send each other; nothing was done",
      "Send less at once: shorter values, fewer or smaller attachments"),
  REPLY_TOO_LARGE(
      Kind.HANDLED,
      "The call was handled, but its reply is larger than hosts of a cluster send each other",
      "Do not repeat the call; read the outcome in parts, and keep less in the session"),
  RUN_TOO_LARGE(
      Kind.REFUSED,
      "The run's journal is too large to be forked, or asked why a field has its value",
      "Start a new run, or ask about its path, what was asked, or its decisions"),
  ROLLING_OUT(
      Kind.TEMPORARY,
      "Not all hosts have this tool, agent or version yet",
      "Call again when the rollout is complete"),
  ERASED(
      Kind.REFUSED, "The session was erased, or is being erased now", "Start a new run if needed"),
  SHUTTING_DOWN(Kind.TEMPORARY, "The server is shutting down", "Call again in a moment");

  /** What an error means for the call that met it. */
  private enum Kind {
    /** Nothing was done, and the same call would be refused again. */
    REFUSED,
    /** The call was handled; only its reply is missing. */
    HANDLED,
    /** The host, the store or the session's place is in the way for now. */
    TEMPORARY,
    /** The session exists, and the host cannot read it. */
    UNREADABLE
  }

  private static final Map<String, HostError> BY_NAME =
      Arrays.stream(values())
          .collect(Collectors.toUnmodifiableMap(HostError::wireName, Function.identity()));

  private final Kind kind;
  private final String cause;
  private final String repair;

  HostError(Kind kind, String cause, String repair) {
    this.kind = kind;
    this.cause = cause;
    this.repair = repair;
  }

  /** The error of a name on the wire; null if a run's own error has it. */
  public static @Nullable HostError named(String wireName) {
    return BY_NAME.get(wireName);
  }

  /** Whether the name is that of an error after which the same call is worth repeating. */
  public static boolean isTemporary(String wireName) {
    HostError error = named(wireName);
    return error != null && error.kind == Kind.TEMPORARY;
  }

  /** Whether the name is that of an error of a session that exists and cannot be read. */
  public static boolean isUnreadable(String wireName) {
    HostError error = named(wireName);
    return error != null && error.kind == Kind.UNREADABLE;
  }

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  public String cause() {
    return cause;
  }

  public String repair() {
    return repair;
  }

  public Outcome.Failure failure() {
    return failure(cause);
  }

  /** The failure of a session whose journal is damaged, with what is wrong. */
  public static Outcome.Failure damaged(DamagedException why) {
    return DAMAGED.failure("The session's journal is damaged: " + why.damage());
  }

  public Outcome.Failure failure(String because) {
    return new Outcome.Failure(wireName(), because + ". " + repair + ".", null, List.of(), null);
  }
}
