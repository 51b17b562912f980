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

/**
 * The stable names of errors of the host and of threads; a run has its own error codes, and {@code
 * ThreadProgram} names its refusals as here.
 */
public enum HostError {
  INVALID_ARGUMENTS(
      400,
      "The call's arguments do not fit the tool's input schema",
      "Correct what is named in violations and call again"),
  MISSING_SESSION(
      Area.RUNS,
      400,
      "The call names no session",
      "Send the sessionId of an earlier result, or start a run"),
  UNKNOWN_SESSION(
      Area.RUNS,
      400,
      "The sessionId is not one that this server gave out",
      "Send the sessionId of an earlier result unchanged, or start a run without one"),
  STALE_CALL(
      Area.RUNS,
      409,
      "The run has moved on since the state that the call refers to",
      "Read the open question and answer that"),
  KEY_USED(
      409,
      "The fermata/callId, or the key, was used for another request; nothing was done",
      "Send this request with a new one"),
  NEEDS_PERSON(
      Area.THREADS,
      409,
      "A person must decide about this approval, not a model; nothing was decided",
      "Tell the user that it has to be decided outside this conversation, or in a client that shows"
          + " forms"),
  BUSY(
      429,
      "Too many calls or messages of this session are waiting",
      "Call again when one of them is done"),
  STILL_WORKING(
      202,
      "The run is still working and continues in the background",
      "Call again with action continue and no stateUpdates to fetch the outcome"),
  OVERLOADED(
      503, "The server has more calls than it can handle in time", "Call again a little later"),
  TOO_MANY_RUNS(
      Area.RUNS,
      409,
      "The caller has as many unfinished runs as it may",
      "Finish or cancel one of them first"),
  TOO_MANY_THREADS(
      Area.THREADS, 409, "The caller has as many threads as it may", "Delete one of them first"),
  STORE_UNAVAILABLE(
      503,
      "The session's journal could not be read or written",
      "Call again with the same arguments; what was not acknowledged may be missing"),
  KEY_MISSING(
      500,
      "The session is encrypted with a key that the server does not have",
      "Configure the key again; the session is unchanged and continues with the next call"),
  DECRYPTION_FAILED(
      500,
      "The stored data of the session cannot be decrypted: it is not what the server wrote",
      "Restore the store, or start a new session"),
  JOURNAL_UNREADABLE(
      500,
      "The session's journal has an entry that this release cannot read; the journal is unchanged",
      "Use the release that wrote it, or a newer one; or start a new session"),
  DAMAGED(
      500,
      "The session's journal is damaged: it is not what the server wrote",
      "Restore the store from a backup, or start a new session"),
  MOVED(
      503,
      "The session is moving to another host, or its host was lost",
      "Call again with the same arguments; what was not acknowledged may be missing"),
  CALL_TOO_LARGE(
      413,
      "The call is larger than hosts of a cluster send each other; nothing was done",
      "Send less at once: shorter values, fewer or smaller attachments"),
  REPLY_TOO_LARGE(
      500,
      "The call was handled, but its reply is larger than hosts of a cluster send each other",
      "Do not repeat the call; read the outcome in parts, and keep less in the session"),
  RUN_TOO_LARGE(
      Area.RUNS,
      413,
      "The run's journal is too large to be forked, or asked why a field has its value",
      "Start a new run, or ask about its path, what was asked, or its decisions"),
  ROLLING_OUT(
      503,
      "Not all hosts have this tool, agent or version yet",
      "Call again when the rollout is complete"),
  ERASED(
      Area.RUNS,
      410,
      "The session was erased, or is being erased now",
      "Start a new run if needed"),
  SHUTTING_DOWN(503, "The server is shutting down", "Call again in a moment"),
  UNKNOWN_ENTRY(404, "The journal has no such entry", "Name one of its entries"),
  NOT_KEPT(
      410,
      "The store keeps no history, or cannot list",
      "Read what is recent, or use a store that keeps and lists"),
  NOT_RUNNING(
      Area.RUNS,
      409,
      "A store that is only read was asked to change something",
      "Start a host on the store"),
  INVALID_QUERY(400, "The query of a list does not fit", "Correct what the message names"),
  UNKNOWN_AGENT(
      Area.THREADS,
      409,
      "The host has no such agent, or not that of the thread any more",
      "Name one that it has, or register it"),
  UNKNOWN_THREAD(
      Area.THREADS,
      404,
      "There is no such thread: it was never created, it was deleted, or it is another caller's",
      "Send the threadId of an earlier result, or begin a thread"),
  UNKNOWN_FILE(
      Area.THREADS,
      404,
      "The thread has no such file, or its bytes are no longer stored",
      "Name one of the attachments of its messages"),
  UNKNOWN_MESSAGE(
      Area.THREADS,
      400,
      "The thread has no such message to read or fork before",
      "Name one of its messages, or pass the before of an earlier page"),
  UNKNOWN_EVENT(
      Area.THREADS,
      400,
      "The thread has not had the event to read after",
      "Begin after one that it sent, or with after=now"),
  UNKNOWN_PROMPT(
      Area.THREADS,
      409,
      "The agent of a fork lacks the prompt of a step that was in progress",
      "Fork at an entry where the thread rests"),
  INVALID_KEY(Area.THREADS, 400, "A key is longer than it may be", "Send a shorter one"),
  INVALID_MESSAGE(
      Area.THREADS,
      400,
      "A message has the role tool, which belongs to calls",
      "Send it with another role"),
  INVALID_TAGS(Area.THREADS, 400, "Tags are too many or too long", "Send fewer or shorter"),
  INVALID_ENV(
      Area.THREADS,
      400,
      "The variables of env are longer than a thread holds",
      "Send shorter ones"),
  MESSAGE_TOO_LONG(
      Area.THREADS,
      413,
      "A message, or its metadata, is longer than it may be",
      "Shorten it, or attach large data as a file"),
  FILE_TOO_LARGE(Area.THREADS, 413, "A file is larger than it may be", "Send less, or a reference"),
  TOO_MANY_FILES(Area.THREADS, 409, "The thread has as many files as it may", "Begin a new thread"),
  THREAD_TOO_LARGE(
      Area.THREADS, 413, "The thread's journal is too large to be forked", "Begin a new thread"),
  NO_OPEN_QUESTION(
      Area.THREADS,
      409,
      "The question is not open: it was answered, it is another call's, or the thread asks nothing",
      "Read the open questions, and answer one of them"),
  MISSING_APPROVAL(Area.THREADS, 400, "The answer decides nothing", "Send approved: true or false"),
  MISSING_ANSWERS(Area.THREADS, 400, "The answer has no answers", "Send answers, by field"),
  TOOL_MISSING(
      Area.THREADS,
      409,
      "The tool of the call is not registered any more; its question stays open",
      "Register it again, or deny the call"),
  STEP_ERROR(
      Area.THREADS,
      500,
      "Code of the agent threw when the thread took the call; nothing was done",
      "Report it to the agent's author");

  /** Whose calls meet an error. */
  private enum Area {
    BOTH,
    RUNS,
    THREADS
  }

  private static final Map<String, HostError> BY_NAME =
      Arrays.stream(values())
          .collect(Collectors.toUnmodifiableMap(HostError::wireName, Function.identity()));

  private final Area area;
  private final int status;
  private final String cause;
  private final String repair;

  HostError(int status, String cause, String repair) {
    this(Area.BOTH, status, cause, repair);
  }

  HostError(Area area, int status, String cause, String repair) {
    this.area = area;
    this.status = status;
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
    return error != null && (error.status == 429 || error.status == 503);
  }

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Whose calls meet it: those of {@code runs}, of {@code threads}, or of {@code both}. */
  public String area() {
    return area.name().toLowerCase(Locale.ROOT);
  }

  /** The status of an HTTP response to a call that met it. */
  public int status() {
    return status;
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
