package io.fermata.agent;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One message of a thread.
 *
 * @param name who speaks, or the tool that a result is from
 * @param toolCalls the calls that the message asks for
 * @param toolCallId the call that a tool's message answers
 * @param logId the step of a model that the message came from
 * @param createdAt microseconds of the epoch; later messages of a thread have later times
 * @param silent not shown to people by default; models see it all the same
 * @param depth 0 at top level, 1 and more inside sub-prompts
 * @param parentId the message of the call that a sub-prompt answers
 * @param side who a tool's message belongs to
 * @param failed a tool's message tells of a failure
 * @param attachments paths of files of the thread
 * @param metadata what authors keep beside it
 */
public record Message(
    String id,
    Role role,
    @Nullable String content,
    @Nullable String name,
    List<ToolCall> toolCalls,
    @Nullable String toolCallId,
    @Nullable String logId,
    long createdAt,
    Status status,
    boolean silent,
    int depth,
    @Nullable String parentId,
    @Nullable Side side,
    boolean failed,
    List<String> attachments,
    @Nullable JsonNode metadata) {

  /** How far a message is. */
  public enum Status {
    @JsonProperty("pending")
    PENDING,
    @JsonProperty("completed")
    COMPLETED,
    @JsonProperty("failed")
    FAILED
  }

  public Message {
    toolCalls = toolCalls == null ? List.of() : List.copyOf(toolCalls);
    attachments = attachments == null ? List.of() : List.copyOf(attachments);
  }

  public static Message of(Role role, @Nullable String content) {
    return new Message(
        "",
        role,
        content,
        null,
        List.of(),
        null,
        null,
        0,
        Status.COMPLETED,
        false,
        0,
        null,
        null,
        false,
        List.of(),
        null);
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

  public Message withContent(@Nullable String value) {
    return with(draft -> draft.content = value);
  }

  public Message withName(@Nullable String value) {
    return with(draft -> draft.name = value);
  }

  /** Not shown to people by default; models see it all the same. */
  public Message asSilent() {
    return silent(true);
  }

  public Message withAttachments(List<String> paths) {
    return with(draft -> draft.attachments = paths);
  }

  Message attached(String as, List<Attachment> files) {
    return withAttachments(files.stream().map(file -> file.path(as)).toList());
  }

  /** Tells two messages apart by what they say: role, content, name and names of attachments. */
  String digest() {
    ObjectNode said = Json.object().put("role", role.name()).put("content", content);
    said.put("name", name).put("silent", silent).set("attachments", Json.tree(attachments));
    try {
      byte[] text = Json.text(said).getBytes(StandardCharsets.UTF_8);
      byte[] hash = MessageDigest.getInstance("SHA-256").digest(text);
      return HexFormat.of().formatHex(hash, 0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JDK has SHA-256", e);
    }
  }

  public Message withMetadata(@Nullable JsonNode value) {
    return with(draft -> draft.metadata = value);
  }

  Message silent(boolean value) {
    return with(draft -> draft.silent = value);
  }

  Message withStatus(Status value) {
    return with(draft -> draft.status = value);
  }

  Message withToolCalls(List<ToolCall> calls) {
    return with(draft -> draft.toolCalls = calls);
  }

  /** This message as a hook wants it: what it says and shows may change, not what it is. */
  Message as(Message changed) {
    return with(
        draft -> {
          draft.content = Bounds.shortened(changed.content);
          draft.name = role == Role.TOOL ? name : changed.name;
          draft.silent = changed.silent;
          draft.attachments = changed.attachments;
          draft.metadata = changed.metadata;
        });
  }

  Message placed(String newId, long at, int newDepth, @Nullable String parent) {
    return with(
        draft -> {
          draft.id = newId;
          draft.createdAt = at;
          draft.depth = newDepth;
          draft.parentId = parent;
        });
  }

  Message at(long microseconds) {
    return placed(id, microseconds, depth, parentId);
  }

  Message from(@Nullable String log) {
    return with(draft -> draft.logId = log);
  }

  static Message result(ToolCall call, Side side, String text, boolean failed, List<String> paths) {
    return with(
        of(Role.TOOL, text),
        draft -> {
          draft.name = call.name();
          draft.toolCallId = call.id();
          draft.side = side;
          draft.failed = failed;
          draft.attachments = paths;
        });
  }

  private Message with(Consumer<Draft> change) {
    return with(this, change);
  }

  private static Message with(Message from, Consumer<Draft> change) {
    Draft draft = new Draft(from);
    change.accept(draft);
    return draft.message();
  }

  private static final class Draft {
    private final Message from;
    private String id;
    private @Nullable String content;
    private @Nullable String name;
    private List<ToolCall> toolCalls;
    private @Nullable String toolCallId;
    private @Nullable String logId;
    private long createdAt;
    private Status status;
    private boolean silent;
    private int depth;
    private @Nullable String parentId;
    private @Nullable Side side;
    private boolean failed;
    private List<String> attachments;
    private @Nullable JsonNode metadata;

    Draft(Message from) {
      this.from = from;
      id = from.id;
      content = from.content;
      name = from.name;
      toolCalls = from.toolCalls;
      toolCallId = from.toolCallId;
      logId = from.logId;
      createdAt = from.createdAt;
      status = from.status;
      silent = from.silent;
      depth = from.depth;
      parentId = from.parentId;
      side = from.side;
      failed = from.failed;
      attachments = from.attachments;
      metadata = from.metadata;
    }

    Message message() {
      return new Message(
          id,
          from.role,
          content,
          name,
          toolCalls,
          toolCallId,
          logId,
          createdAt,
          status,
          silent,
          depth,
          parentId,
          side,
          failed,
          attachments,
          metadata);
    }
  }
}
