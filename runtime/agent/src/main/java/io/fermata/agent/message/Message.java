package io.fermata.agent.message;

import com.fasterxml.jackson.databind.EnumNamingStrategies;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One message of a thread.
 *
 * @param body its content, and the author's metadata
 * @param toolCalls the calls that the message asks for
 * @param answered the call that a tool's message answers; null in other messages
 */
public record Message(
    String id,
    Role role,
    Body body,
    List<RequestedCall> toolCalls,
    @Nullable Answered answered,
    Place place,
    Status status) {

  /**
   * The content of a message, which hooks may change.
   *
   * @param name the author of the message, or the tool that a result is from
   * @param silent hidden from people by default; models see it
   * @param attachments paths of files of the thread
   * @param metadata the author's metadata
   */
  public record Body(
      @Nullable String content,
      @Nullable String name,
      boolean silent,
      List<String> attachments,
      @Nullable JsonNode metadata) {
    public Body {
      content = content == null ? null : Texts.sound(content);
      name = name == null ? null : Texts.sound(name);
      attachments = List.copyOf(attachments);
    }

    /** A copy. */
    @Override
    public @Nullable JsonNode metadata() {
      return metadata == null ? null : metadata.deepCopy();
    }
  }

  /**
   * The call that a tool's message answers.
   *
   * @param side the side that made the call
   */
  public record Answered(String toolCallId, Side side, boolean failed) {}

  /**
   * Where a message is in its thread.
   *
   * @param createdAt microseconds of the epoch; later messages of a thread have later times
   * @param depth 0 at top level, 1 and more inside sub-prompts
   * @param parentId the message of the call that a sub-prompt answers
   * @param logId the step of a model that the message came from
   */
  public record Place(
      long createdAt, int depth, @Nullable String parentId, @Nullable String logId) {
    static final Place NONE = new Place(0, 0, null, null);
  }

  /** The status of a message. */
  @EnumNaming(EnumNamingStrategies.SnakeCaseStrategy.class)
  public enum Status {
    PENDING,
    COMPLETED,
    FAILED
  }

  public Message {
    toolCalls = List.copyOf(toolCalls);
  }

  public static Message of(Role role, @Nullable String content) {
    Body body = new Body(content, null, false, List.of(), null);
    return new Message("", role, body, List.of(), null, Place.NONE, Status.COMPLETED);
  }

  public static Message user(String content) {
    return of(Role.USER, content);
  }

  public static Message assistant(String content) {
    return of(Role.ASSISTANT, content);
  }

  public static Message system(String content) {
    return of(Role.SYSTEM, content);
  }

  // --- content and position ------------------------------------------------------------

  public @Nullable String content() {
    return body.content();
  }

  public @Nullable String name() {
    return body.name();
  }

  /** Hidden from people by default; models see it. */
  public boolean silent() {
    return body.silent();
  }

  /** Paths of files of the thread. */
  public List<String> attachments() {
    return body.attachments();
  }

  /** A copy of the author's metadata. */
  public @Nullable JsonNode metadata() {
    return body.metadata();
  }

  /** The call that a tool's message answers. */
  public @Nullable String toolCallId() {
    return answered == null ? null : answered.toolCallId();
  }

  /** The side whose call a tool's message answers. */
  public @Nullable Side side() {
    return answered == null ? null : answered.side();
  }

  /** Whether a tool's message reports a failure. */
  public boolean failed() {
    return answered != null && answered.failed();
  }

  /** Microseconds of the epoch; later messages of a thread have later times. */
  public long createdAt() {
    return place.createdAt();
  }

  /** 0 at top level, 1 and more inside sub-prompts. */
  public int depth() {
    return place.depth();
  }

  /** The message of the call that a sub-prompt answers. */
  public @Nullable String parentId() {
    return place.parentId();
  }

  /** The step of a model that the message came from. */
  public @Nullable String logId() {
    return place.logId();
  }

  /**
   * Distinguishes messages by role, body and files.
   *
   * @param files the digests of its attachments
   */
  public String digest(List<String> files) {
    ObjectNode said = Json.object().put("role", role.name()).put("content", content());
    said.put("name", name()).put("silent", silent()).set("attachments", Json.tree(attachments()));
    said.set("files", Json.tree(files));
    said.set("metadata", body.metadata());
    return Fingerprint.of(said);
  }

  // --- change ----------------------------------------------------------------------------------

  public Message withContent(@Nullable String value) {
    return with(new Body(value, name(), silent(), attachments(), metadata()));
  }

  public Message withName(@Nullable String value) {
    return with(new Body(content(), value, silent(), attachments(), metadata()));
  }

  /** Hidden from people by default; models see it. */
  public Message asSilent() {
    return silent(true);
  }

  Message silent(boolean value) {
    return with(new Body(content(), name(), value, attachments(), metadata()));
  }

  public Message withAttachments(List<String> paths) {
    return with(new Body(content(), name(), silent(), paths, metadata()));
  }

  /** This message with the paths of its files, each with a name of its own. */
  public Message attached(String as, List<Attachment> files) {
    return withAttachments(Attachment.numbered(files).stream().map(file -> file.path(as)).toList());
  }

  public Message withMetadata(@Nullable JsonNode value) {
    return with(new Body(content(), name(), silent(), attachments(), Json.copy(value)));
  }

  /** This message as changed by a hook: its content may change, not its identity. */
  public Message as(Message changed) {
    Body by = changed.body;
    return with(
        new Body(
            Bounds.shortened(by.content()),
            role == Role.TOOL ? name() : by.name(),
            by.silent(),
            by.attachments(),
            Json.copy(by.metadata())));
  }

  public Message withToolCalls(List<RequestedCall> calls) {
    return new Message(id, role, body, calls, answered, place, status);
  }

  public Message withStatus(Status value) {
    return new Message(id, role, body, toolCalls, answered, place, value);
  }

  public Message placed(String newId, long at, int depth, @Nullable String parentId) {
    Place there = new Place(at, depth, parentId, logId());
    return new Message(newId, role, body, toolCalls, answered, there, status);
  }

  public Message at(long microseconds) {
    return placed(id, microseconds, depth(), parentId());
  }

  public Message from(@Nullable String log) {
    Place there = new Place(createdAt(), depth(), parentId(), log);
    return new Message(id, role, body, toolCalls, answered, there, status);
  }

  private Message with(Body changed) {
    return new Message(id, role, changed, toolCalls, answered, place, status);
  }

  public static Message result(
      RequestedCall call, Side side, String text, boolean failed, List<String> paths) {
    Body body = new Body(text, call.name(), false, paths, null);
    Answered answered = new Answered(call.id(), side, failed);
    return new Message("", Role.TOOL, body, List.of(), answered, Place.NONE, Status.COMPLETED);
  }
}
