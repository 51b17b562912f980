package io.fermata.mcp.rest;

import com.fasterxml.jackson.databind.EnumNamingStrategies.SnakeCaseStrategy;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Violation;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.schema.ArgumentSchema;
import io.fermata.mcp.http.HttpError;
import io.fermata.mcp.http.RequestError;
import io.fermata.mcp.rpc.JsonRpcCodec;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.Size;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The bodies of the HTTP API. What no schema says of them is checked by those who take them. */
final class Bodies {
  static final int MAX_NAME = 200;

  private static final int MAX_METADATA = 16 * 1024;
  private static final Pattern ELEMENT = Pattern.compile("(\\w+)\\.(\\d+)(.*)");

  private static final ClassValue<ArgumentSchema> SCHEMAS =
      new ClassValue<>() {
        @Override
        protected ArgumentSchema computeValue(Class<?> body) {
          return ArgumentSchema.of(body.asSubclass(Record.class));
        }
      };

  private Bodies() {}

  @EnumNaming(SnakeCaseStrategy.class)
  enum Author {
    USER,
    ASSISTANT,
    SYSTEM
  }

  /** The modes of {@code ForkOrigin.Mode}, which journals write in upper case. */
  @EnumNaming(SnakeCaseStrategy.class)
  enum ForkMode {
    LIVE,
    REPLAY_EFFECTS,
    SANDBOX;

    ForkOrigin.Mode mode() {
      return ForkOrigin.Mode.valueOf(name());
    }
  }

  @EnumNaming(SnakeCaseStrategy.class)
  enum ActingSide {
    A,
    B
  }

  @EnumNaming(SnakeCaseStrategy.class)
  enum Remedy {
    RETRY,
    SKIP
  }

  record Empty() {}

  record Creation(
      String agent,
      @Nullable List<String> tags,
      @Nullable Map<String, @Nullable String> env,
      @Nullable @Size(max = 100) List<Opening> messages) {}

  record ThreadChange(@Nullable List<String> tags, @Nullable Map<String, @Nullable String> env) {}

  record Opening(
      @Nullable String content,
      @Nullable Author role,
      @Nullable String name,
      @Nullable Boolean silent,
      @Nullable ObjectNode metadata)
      implements Spoken {}

  record Posting(
      @Nullable String content,
      @Nullable Author role,
      @Nullable String name,
      @Nullable Boolean silent,
      @Nullable ObjectNode metadata,
      @Nullable @Size(max = 16) List<Upload> attachments)
      implements Spoken {}

  record Upload(String name, String mimeType, String data) {}

  record ThreadForking(
      ForkMode mode,
      @Nullable Long entry,
      @Nullable String before,
      @Nullable String agent,
      @Nullable Map<String, @Nullable String> env,
      @Nullable String content,
      @Nullable Author role,
      @Nullable String name,
      @Nullable Boolean silent,
      @Nullable ObjectNode metadata)
      implements Spoken {}

  record Continuation(@Nullable ActingSide side) {}

  record PersonsAnswer(
      @NotBlank String call,
      @Nullable String question,
      @Nullable Boolean approved,
      @Nullable ObjectNode answers,
      @Nullable String reason) {}

  record Resolving(Remedy resolution) {}

  record RunForking(
      long entry,
      ForkMode mode,
      @Nullable ObjectNode answers,
      @Nullable Boolean newestVersion,
      @Nullable Integer version) {

    ForkOptions options(String by) {
      ForkOptions options = ForkOptions.of(mode.mode()).by(by);
      options = answers == null ? options : options.answers(answers);
      options = version == null ? options : options.onVersion(version);
      return Boolean.TRUE.equals(newestVersion) ? options.onNewestVersion() : options;
    }
  }

  /** What the bodies have in common that say something in a thread. */
  sealed interface Spoken {
    @Nullable String content();

    @Nullable Author role();

    @Nullable String name();

    @Nullable Boolean silent();

    @Nullable ObjectNode metadata();

    /**
     * The message that the body contains.
     *
     * @param at stands before the names of its fields
     */
    default Message message(String at, boolean needsContent, Map<String, String> wrong) {
      String content = content();
      String name = name();
      ObjectNode metadata = metadata();
      Author author = role();
      if (needsContent && (content == null || content.isBlank())) {
        wrong.put(at + "content", "is required: a string that is not blank");
      }
      if (name != null && (name.isBlank() || name.length() > MAX_NAME)) {
        wrong.put(at + "name", "has 1 to %s characters".formatted(MAX_NAME));
      }
      if (metadata != null && JsonRpcCodec.json(metadata).length() > MAX_METADATA) {
        wrong.put(at + "metadata", "has at most %s characters of JSON".formatted(MAX_METADATA));
      }
      Role role = author == null ? Role.USER : Role.valueOf(author.name());
      Message message = Message.of(role, content).withName(name).withMetadata(metadata);
      return Boolean.TRUE.equals(silent()) ? message.asSilent() : message;
    }
  }

  /**
   * Reads a body.
   *
   * @throws HttpError if it does not fit, with what is wrong with each field
   */
  static <T extends Record> T read(JsonNode body, Class<T> type) {
    if (!(body instanceof ObjectNode given)) {
      throw HttpError.of(RequestError.BAD_REQUEST, "The body must be a JSON object");
    }
    ArgumentSchema schema = SCHEMAS.get(type);
    List<Violation> violations = schema.check(body);
    Map<String, String> wrong = new LinkedHashMap<>();
    violations.stream()
        .limit(Limits.VIOLATIONS)
        .forEach(each -> wrong.put(field(each.field(), body), each.message()));
    if (violations.size() > Limits.VIOLATIONS) {
      String more = violations.get(Limits.VIOLATIONS).message();
      wrong.put("body", more.replace("violations", "invalid fields"));
    }
    check(wrong);
    return Json.value(schema.meantWithNulls(given), type);
  }

  /** Refuses a body of which fields are wrong. */
  static void check(Map<String, String> wrong) {
    if (!wrong.isEmpty()) {
      throw HttpError.fields(wrong);
    }
  }

  /** The API writes {@code messages[0].role} where a schema says {@code messages.0.role}. */
  private static String field(String path, JsonNode body) {
    Matcher element = ELEMENT.matcher(path);
    return element.matches() && body.path(element.group(1)).isArray()
        ? element.replaceFirst("$1[$2]$3")
        : path;
  }
}
