package io.fermata.session.host;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.TaskUse;
import io.fermata.flow.ToolHints;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Violation;
import io.fermata.flow.replay.RunEvents;
import io.fermata.flow.schema.ArgumentSchema;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.call.FlowCall;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolReply;
import io.fermata.session.call.ToolUse;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.JournalPages;
import io.fermata.session.journal.RunSurvey;
import io.fermata.session.journal.StoreErrors;
import io.fermata.session.key.Handles;
import io.fermata.session.key.HostError;
import io.fermata.session.key.SessionKey;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A tool with which a model asks about its own run: what was asked, which rule chose, why a field
 * has its value. It reads the journal of the caller's session, without its secrets, and wakes
 * nobody.
 */
public final class RunExplanations {
  /** The name of the tool. */
  public static final String NAME = ToolContract.EXPLAIN_RUN;

  private static final String STATUS = "explained";

  /** How many journals are read at once: other calls need the threads, too. */
  private static final int AT_ONCE = 8;

  private final FlowCatalog catalog;
  private final OpenStore store;
  private final Encryption encryption;
  private final Handles handles;
  private final Executor threads;
  private final ArgumentSchema schema;
  private final BoundedWork reading = new BoundedWork(AT_ONCE);

  /**
   * @param threads may block
   */
  public RunExplanations(
      FlowCatalog catalog,
      OpenStore store,
      Encryption encryption,
      Handles handles,
      Executor threads) {
    this.catalog = catalog;
    this.store = store;
    this.encryption = encryption;
    this.handles = handles;
    this.threads = threads;
    this.schema = ArgumentSchema.of(input());
  }

  private ObjectNode input() {
    ObjectNode input = Json.object().put("type", "object").put("additionalProperties", false);
    ObjectNode fields = input.putObject("properties");
    ObjectNode flow = fields.putObject("flow").put("type", "string");
    flow.put("description", "The tool whose run is asked about");
    catalog.offered().forEach(each -> flow.withArray("enum").add(each.id()));
    ObjectNode about = fields.putObject("about").put("type", "string");
    about.put(
        "description",
        "path: what happened so far; asked: questions and answers; decisions: which rule chose, on"
            + " what values; why: why a field has its value");
    Arrays.stream(Explanation.About.values())
        .forEach(each -> about.withArray("enum").add(each.wireName()));
    fields
        .putObject("field")
        .put("type", "string")
        .put("description", "With why: the field, with dots as in the run");
    fields
        .putObject("sessionId")
        .put("type", "string")
        .put("description", "That of the run's results, if they have one");
    input.putArray("required").add("flow").add("about");
    return input;
  }

  public ToolContract contract() {
    ObjectNode output = Json.object().put("type", "object");
    ObjectNode fields = output.putObject("properties");
    fields.putObject("status").put("type", "string").putArray("enum").add(STATUS).add("error");
    fields.putObject("text").put("type", "string");
    fields.putObject("code").put("type", "string");
    fields.putObject("error").put("type", "string");
    output.putArray("required").add("status");
    return new ToolContract(
        NAME,
        "Explain a run",
        "Explains the latest run of another tool in this conversation: what happened, what was asked,"
            + " which rule chose a way, why a field has its value. It changes nothing. Use it when"
            + " the user asks why; values marked [redacted] are secret.",
        schema.json(),
        output,
        TaskUse.WHEN_LATE,
        ToolContract.Kind.FLOW,
        ToolHints.NONE.readOnly(true),
        "");
  }

  /** The stage never fails. */
  public CompletionStage<ToolReply> call(ToolCall call) {
    return begun(() -> reply(call));
  }

  /**
   * What a use of a flow did, in words.
   *
   * @param about the name of an {@link Explanation.About}
   */
  CompletionStage<String> explain(ToolUse use, String about, @Nullable String field) {
    if (Arrays.stream(Explanation.About.values()).noneMatch(it -> it.wireName().equals(about))) {
      return CompletableFuture.failedFuture(
          new IllegalArgumentException(
              "A run cannot be asked about %s; ask about path, asked, decisions or why"
                  .formatted(about)));
    }
    SessionKey key = ToolUses.keyOf(use);
    String unknown =
        "Nothing explains your latest call of %s: it began no run, or that has ended and is not kept."
            .formatted(use.tool());
    return begun(() -> explained(key, named(about), field, unknown))
        .thenApply(reply -> reply.structured().path(reply.error() ? "error" : "text").asText());
  }

  private CompletionStage<ToolReply> begun(Supplier<ToolReply> reply) {
    return reading.begin(
        () -> CompletableFuture.supplyAsync(reply, threads).exceptionally(RunExplanations::failed),
        () -> CompletableFuture.completedFuture(ToolReply.refused(HostError.OVERLOADED)));
  }

  static ToolReply failed(Throwable thrown) {
    Outcome.Failure unreadable = StoreErrors.failureOf(thrown);
    return unreadable == null
        ? ToolReply.refused(HostError.STORE_UNAVAILABLE)
        : new ToolReply(OutcomeJson.body(unreadable), Json.object());
  }

  private static Explanation.About named(String about) {
    return Explanation.About.valueOf(about.toUpperCase(Locale.ROOT));
  }

  private ToolReply reply(ToolCall call) {
    List<Violation> wrong = schema.check(call.arguments());
    if (!wrong.isEmpty()) {
      return ToolReply.refused(
          HostError.INVALID_ARGUMENTS,
          Violation.listed("The arguments of " + NAME + " do not fit", wrong));
    }
    String flow = call.arguments().path("flow").asText();
    ObjectNode status = Json.object().put("action", "status");
    if (call.arguments().has("sessionId")) {
      status.set("sessionId", call.arguments().get("sessionId"));
    }
    ToolCall own =
        new ToolCall(flow, call.principal(), status, call.meta(), call.transportSession());
    FlowCall.Parsed parsed = FlowCall.read(own, handles);
    Outcome.Failure refusal = parsed.refusal();
    if (refusal != null) {
      return new ToolReply(OutcomeJson.body(refusal), Json.object());
    }
    SessionKey key =
        new SessionKey(call.principal(), flow, ((FlowCall.Valid) parsed).call().session());
    return explained(
        key,
        named(call.arguments().path("about").asText()),
        call.arguments().path("field").textValue(),
        "There is no run of %s in this conversation, or it has ended and is not kept; one can be asked about while it is open."
            .formatted(flow));
  }

  /**
   * @param unknown what the model reads if no run is known; it must not lead to a second run, which
   *     would repeat the effects of one that has ended
   */
  private ToolReply explained(
      SessionKey key, Explanation.About about, @Nullable String field, String unknown) {
    if (about == Explanation.About.WHY && (field == null || field.isBlank())) {
      return ToolReply.refused(HostError.INVALID_ARGUMENTS, "Name the field that you ask about.");
    }
    RunSurvey survey =
        new RunSurvey(
                store,
                encryption,
                key.entityId(),
                catalog.secretFields(key.flow()),
                RunEvents::latest)
            .look();
    if (about == Explanation.About.WHY && survey.bytes() > JournalPages.LONGEST_WHOLE) {
      return ToolReply.refused(HostError.RUN_TOO_LARGE);
    }
    Flow<?> flow = catalog.describing(key.flow(), survey.state());
    Explanation explanation = new Explanation(about, flow);
    survey.publish(flow, explanation, entry -> true);
    if (!explanation.known()) {
      return ToolReply.refused(HostError.INVALID_ARGUMENTS, unknown);
    }
    String misnamed = field != null && explanation.unwritten(field) ? flow.misnamed(field) : null;
    if (misnamed != null) {
      return ToolReply.refused(HostError.INVALID_ARGUMENTS, misnamed);
    }
    String text = survey.masked(explanation.text(field));
    return new ToolReply(Json.object().put("status", STATUS).put("text", text), Json.object());
  }
}
