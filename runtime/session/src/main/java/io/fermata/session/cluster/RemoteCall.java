package io.fermata.session.cluster;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fermata.agent.state.ThreadInput;
import io.fermata.flow.event.Outcome;
import io.fermata.session.actor.SessionCommand;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.ReplyMode;
import io.fermata.session.call.Request;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.journal.CallLog;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalSerializer;
import io.fermata.session.journal.RunReply;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.journal.ThreadReply;
import io.fermata.session.key.HostError;
import io.fermata.session.key.TraceContext;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;

/** A call on its way to the host of its session. */
record RemoteCall(
    Entry.Origin origin,
    @Nullable String callId,
    boolean fresh,
    Request request,
    ReplyMode mode,
    TraceContext trace) {

  /** How large a call or a reply may be; with what is sent around it, it fits into a frame. */
  static final int LARGEST = 3 * 1024 * 1024;

  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "@")
  @JsonSubTypes({
    @JsonSubTypes.Type(value = Request.OfRun.class, name = "run"),
    @JsonSubTypes.Type(value = Request.OfThread.class, name = "thread"),
    @JsonSubTypes.Type(value = Request.ForkThread.class, name = "fork_thread"),
    @JsonSubTypes.Type(value = Request.View.class, name = "view")
  })
  private interface Requests {}

  /** What comes from a thread's own effects never crosses hosts. */
  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "@")
  @JsonSubTypes({
    @JsonSubTypes.Type(value = ThreadInput.Create.class, name = "create"),
    @JsonSubTypes.Type(value = ThreadInput.Post.class, name = "post"),
    @JsonSubTypes.Type(value = ThreadInput.Stop.class, name = "stop"),
    @JsonSubTypes.Type(value = ThreadInput.Proceed.class, name = "proceed"),
    @JsonSubTypes.Type(value = ThreadInput.Answer.class, name = "answer"),
    @JsonSubTypes.Type(value = ThreadInput.Change.class, name = "change"),
    @JsonSubTypes.Type(value = ThreadInput.Delete.class, name = "delete"),
    @JsonSubTypes.Type(value = ThreadInput.FlowChanged.class, name = "flow_changed"),
    @JsonSubTypes.Type(value = ThreadInput.Report.class, name = "report"),
    @JsonSubTypes.Type(value = ThreadInput.ChildSpent.class, name = "child_spent"),
    @JsonSubTypes.Type(value = ThreadInput.ChildStatusChanged.class, name = "child_status"),
    @JsonSubTypes.Type(value = ThreadInput.ChildDeleted.class, name = "child_deleted")
  })
  private interface Inputs {}

  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "@")
  @JsonSubTypes({
    @JsonSubTypes.Type(value = RunReply.class, name = "run"),
    @JsonSubTypes.Type(value = ThreadReply.class, name = "thread")
  })
  private interface Replies {}

  private static final ObjectMapper MAPPER =
      JournalSerializer.mapper()
          .addMixIn(Request.class, Requests.class)
          .addMixIn(ThreadInput.class, Inputs.class)
          .addMixIn(SessionReply.class, Replies.class);

  /**
   * A call that is sent.
   *
   * @param name what makes it idempotent if its caller has not named it, and it is not so already
   */
  static RemoteCall of(SessionCommand.Call call, String name) {
    Request request = call.request();
    return new RemoteCall(
        call.origin(),
        call.callId() == null ? id(request, name) : call.callId(),
        call.fresh(),
        request,
        call.mode(),
        call.trace());
  }

  byte[] written() {
    return write(RemoteCall.class, this);
  }

  /** Posts and answers have a key, and what threads report a number. */
  private static @Nullable String id(Request request, String name) {
    if (request instanceof Request.OfRun run && run.action() != CallAction.STATUS) {
      return CallLog.givenId(name);
    }
    boolean repeats =
        request instanceof Request.OfThread thread
            && (thread.input() instanceof ThreadInput.Proceed
                || thread.input() instanceof ThreadInput.Stop
                || thread.input() instanceof ThreadInput.Change
                || thread.input() instanceof ThreadInput.FlowChanged);
    return repeats ? CallLog.unrepliedId(name) : null;
  }

  static RemoteCall read(byte[] call) {
    return read(call, RemoteCall.class);
  }

  /**
   * The call as its session gets it.
   *
   * @param again whether it may have arrived before, so that its session may have a journal
   */
  SessionCommand.Call call(long id, SessionCommand.ReplyTo replyTo, boolean again) {
    return new SessionCommand.Call(
        id, origin, callId, fresh && !again, request, mode, trace, replyTo);
  }

  /** Whether a host asks for the state of a thread, which its author code is to read. */
  boolean readsState() {
    return request instanceof Request.View && origin.principal() == null;
  }

  /** The failure of a call that is too large to be sent; null if it is not. */
  static Outcome.@Nullable Failure tooLarge(byte[] call) {
    return call.length <= LARGEST
        ? null
        : HostError.CALL_TOO_LARGE.failure(
            "The call has %s bytes, and hosts of a cluster send each other at most %s; nothing was done"
                .formatted(call.length, LARGEST));
  }

  /**
   * Writes the reply to a call. Of a thread it holds what callers read.
   *
   * @param whole whether its caller reads the whole state of a thread
   */
  static byte[] written(SessionReply reply, String entityId, boolean whole) {
    byte[] written =
        written(reply instanceof ThreadReply thread && !whole ? thread.outline() : reply);
    if (written.length <= LARGEST) {
      return written;
    }
    String why =
        "The call was handled, but its reply has %s bytes, and hosts of a cluster send each other at most %s"
            .formatted(written.length, LARGEST);
    return written(SessionReply.failure(entityId, HostError.REPLY_TOO_LARGE.failure(why)));
  }

  static byte[] written(SessionReply reply) {
    return write(SessionReply.class, reply);
  }

  /** Whether the session has moved to another host before it could reply. */
  static boolean isMoved(SessionReply reply) {
    String moved = HostError.MOVED.wireName();
    if (reply instanceof RunReply run) {
      return run.body().path("code").asText().equals(moved);
    }
    Outcome.Failure failure = ((ThreadReply) reply).failure();
    return failure != null && failure.code().equals(moved);
  }

  static SessionReply readReply(byte[] reply) {
    return read(reply, SessionReply.class);
  }

  static byte[] written(ToolProgress progress) {
    return write(ToolProgress.class, progress);
  }

  static ToolProgress readProgress(byte[] progress) {
    return read(progress, ToolProgress.class);
  }

  static boolean isTooLarge(JsonNode message) {
    return size(message) > LARGEST;
  }

  static int size(JsonNode message) {
    return write(JsonNode.class, message).length;
  }

  private static byte[] write(Class<?> type, Object value) {
    try {
      return MAPPER.writerFor(type).writeValueAsBytes(value);
    } catch (IOException e) {
      throw new UncheckedIOException("A call could not be sent to another host", e);
    }
  }

  private static <T> T read(byte[] bytes, Class<T> type) {
    try {
      return MAPPER.readValue(bytes, type);
    } catch (IOException e) {
      throw new UncheckedIOException("What another host sent could not be read", e);
    }
  }
}
