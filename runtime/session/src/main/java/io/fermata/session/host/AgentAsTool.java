package io.fermata.session.host;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.state.ChildThread;
import io.fermata.flow.TaskUse;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Violation;
import io.fermata.flow.logging.LoggedFailure;
import io.fermata.flow.schema.ArgumentSchema;
import io.fermata.session.ToolHost;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.ThreadJson;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.FlowCall;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.call.UnreachableAgentException;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.key.TraceContext;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An agent as one tool: a client sends messages, answers questions, and reads the agent's messages.
 */
public final class AgentAsTool {
  private static final Logger LOG = LoggerFactory.getLogger(AgentAsTool.class);

  /** How many messages a reply has at most. */
  private static final int PAGE = 100;

  private static final String CUT = "Only the latest of what was said is in `messages`";

  private static final String PROTOCOL =
      """


      This tool talks with an agent. Call {"action":"send","message":"…"}, and send `threadId` back \
      in every later call of the conversation. Then read `status`. rest: tell the user `messages`. \
      asking: show `questions` to the user and call {"action":"answer","threadId":"…","call":"…",\
      "question":"<its id>"} with "approved" or "answers"; never decide for them. working: call \
      {"action":"status","threadId":"…"} later. error: do what `error` says.""";

  private static final String INSTRUCTIONS =
      """
      ## Tools with `action`, `threadId` and `message`
      Each talks with an agent in a thread that keeps the conversation.

      Begin: {"action":"send","message":"…"}. Every result carries `threadId`: send it back unchanged \
      in every later call that belongs to the conversation; without it, send begins a new one.

      Read `status` in the result:
      - rest: the agent is done for now; `messages` is what was said since your message. Tell the user, \
      and send again when there is more to say. `code` says why it rests. Calls in `waits` wait for a \
      moment, a signal or another person: send meanwhile, and read with status later what came of them.
      - asking: people must decide. Show each of `questions` to the user; never decide for them. Then \
      {"action":"answer","threadId":"…","call":"<call of the question>","question":"<id of the \
      question>"} with "approved": true or false, and a "reason" if they gave one, where `approval` is \
      true; else with "answers": the values by field, as `question` asks for them. An approval is \
      decided by the user alone: a client that can show a form asks them in it, and for any other \
      `hint` says so.
      - working: nothing is wrong, it takes longer. {"action":"status","threadId":"…"} waits for it again.
      - error: `error` says what is wrong and what to do next.

      Other actions:
      - status: waits while the agent works, changes nothing, and repeats what was said since the user \
      last spoke.
      - stop: lets the agent rest at once; running work is cancelled.
      - delete: ends the conversation and deletes it for good; only if the user wants that.""";

  private static final List<String> ACTIONS = List.of("send", "status", "stop", "answer", "delete");

  /** The fields that only one action has. */
  private static final Map<String, String> ACTION_OF =
      Map.of(
          "message", "send",
          "call", "answer",
          "question", "answer",
          "approved", "answer",
          "answers", "answer",
          "reason", "answer");

  private static final ArgumentSchema ARGUMENTS = ArgumentSchema.of(input());

  private final Agent agent;
  private final AgentThreads threads;
  private final Duration timeout;
  private final ToolContract contract;

  /** One per waiting call; completing it ends the wait. */
  private final Map<Object, CompletableFuture<Void>> waiting = new ConcurrentHashMap<>();

  /**
   * @param timeout how long a call waits for the thread to rest or ask
   */
  public AgentAsTool(Agent agent, AgentThreads threads, Duration timeout) {
    this.agent = agent;
    this.threads = threads;
    this.timeout = timeout;
    this.contract =
        new ToolContract(
            agent.name(),
            agent.name(),
            agent.description() + PROTOCOL,
            ARGUMENTS.json(),
            output(),
            TaskUse.WHEN_LATE,
            ToolContract.Kind.AGENT,
            agent.hints(),
            INSTRUCTIONS);
  }

  public ToolContract contract() {
    return contract;
  }

  // --- calls -----------------------------------------------------------------------------------

  /**
   * As {@link ToolHost#call(ToolCall, Consumer)}: the stage never fails.
   *
   * @param trace the trace of the call
   */
  CompletionStage<ToolReply> call(
      ToolCall call, Consumer<ToolProgress> progress, TraceContext trace) {
    ObjectNode arguments = call.arguments();
    Map<String, String> wrong = violations(arguments);
    callId(call, found -> wrong.put(found.field(), found.message()));
    if (!wrong.isEmpty()) {
      return CompletableFuture.completedFuture(ill(wrong));
    }
    AgentThreads within = threads.within(trace);
    CompletionStage<ToolReply> reply;
    try {
      reply =
          switch (arguments.path("action").textValue()) {
            case "send" -> send(call, progress, within);
            case "status" -> awaited(call, text(arguments, "threadId"), null, progress);
            case "stop" -> stop(call, within);
            case "delete" -> delete(call, within);
            default -> answer(call, progress, within);
          };
    } catch (RuntimeException e) {
      reply = CompletableFuture.failedFuture(e);
    }
    return reply.exceptionally(thrown -> failed(call, thrown));
  }

  private static Map<String, String> violations(ObjectNode arguments) {
    Map<String, String> wrong = new LinkedHashMap<>();
    ARGUMENTS.check(arguments).forEach(found -> wrong.put(found.field(), found.message()));
    String action = arguments.path("action").asText();
    if (!ACTIONS.contains(action)) {
      return wrong;
    }
    for (Map.Entry<String, JsonNode> field : arguments.properties()) {
      if (!ACTION_OF.getOrDefault(field.getKey(), action).equals(action)) {
        wrong.put(field.getKey(), "does not belong to the action " + action);
      }
    }
    need(wrong, arguments, "message", action.equals("send"));
    need(wrong, arguments, "threadId", !action.equals("send"));
    need(wrong, arguments, "call", action.equals("answer"));
    return wrong;
  }

  private static void need(
      Map<String, String> wrong, ObjectNode arguments, String name, boolean needed) {
    if (needed && arguments.path(name).asText().isBlank()) {
      wrong.putIfAbsent(name, "is needed");
    }
  }

  private CompletionStage<ToolReply> send(
      ToolCall call, Consumer<ToolProgress> progress, Threads within) {
    String principal = call.principal();
    String key = callId(call);
    String given = call.arguments().path("threadId").textValue();
    CompletionStage<String> thread =
        given != null
            ? CompletableFuture.completedFuture(given)
            : within
                .create(
                    new Threads.NewThread(
                        principal, agent.name(), key, Set.of(), Map.of(), List.of()))
                .thenApply(Threads.View::threadId);
    Message message = Message.user(text(call.arguments(), "message"));
    return thread.thenCompose(
        id ->
            own(call, id)
                .thenCompose(
                    view ->
                        relay(call, view, progress)
                            .thenCompose(
                                relay ->
                                    within
                                        .post(
                                            principal,
                                            id,
                                            new Threads.NewMessage(message, List.of(), key))
                                        .thenCompose(
                                            posted ->
                                                settled(call, id, posted.messageId(), relay)
                                                    .exceptionally(
                                                        failed -> working(call, id, failed)))
                                        .whenComplete((reply, thrown) -> relay.end()))));
  }

  private CompletionStage<ToolReply> awaited(
      ToolCall call, String id, Threads.@Nullable View known, Consumer<ToolProgress> progress) {
    CompletionStage<Threads.View> view =
        known == null ? own(call, id) : CompletableFuture.completedFuture(known);
    return view.thenCompose(
        now ->
            relay(call, now, progress)
                .thenCompose(
                    relay ->
                        settled(call, id, null, relay)
                            .whenComplete((reply, thrown) -> relay.end())));
  }

  private CompletionStage<ToolReply> stop(ToolCall call, Threads within) {
    String id = text(call.arguments(), "threadId");
    return own(call, id)
        .thenCompose(view -> within.stop(call.principal(), id, callId(call)))
        .thenCompose(view -> fetchReply(call, view, null));
  }

  private CompletionStage<ToolReply> delete(ToolCall call, Threads within) {
    String id = text(call.arguments(), "threadId");
    ObjectNode body = Json.object().put("status", "deleted").put("threadId", id);
    return own(call, id)
        .thenCompose(view -> within.delete(call.principal(), id))
        .thenApply(gone -> new ToolReply(body, Json.object()));
  }

  private CompletionStage<ToolReply> answer(
      ToolCall call, Consumer<ToolProgress> progress, Threads within) {
    ObjectNode arguments = call.arguments();
    String id = text(arguments, "threadId");
    String key = callId(call);
    JsonNode approved = arguments.path("approved");
    Threads.Answer answer =
        new Threads.Answer(
            text(arguments, "call"),
            arguments.path("question").textValue(),
            key == null ? UUID.randomUUID().toString() : key,
            approved.isBoolean() ? approved.booleanValue() : null,
            arguments.get("answers"),
            arguments.path("reason").textValue());
    return own(call, id)
        .thenCompose(view -> within.answer(call.principal(), id, answer))
        .thenCompose(
            view ->
                awaited(call, id, view, progress)
                    .exceptionally(failed -> working(call, id, failed)));
  }

  /**
   * The thread, if it was started with this agent; a tool reaches only those. Checked before
   * anything is done, as the caller may not use the agent that it was handed over to.
   */
  private CompletionStage<Threads.View> own(ToolCall call, String id) {
    return threads
        .get(call.principal(), id)
        .thenApply(
            view -> {
              if (!view.origin().equals(agent.name())) {
                throw new ThreadException(
                    HostError.UNKNOWN_THREAD,
                    "There is no such thread of %s; send without threadId to begin one"
                        .formatted(agent.name()));
              } else if (!call.mayReach().test(view.agent())) {
                throw new UnreachableAgentException(view.agent());
              }
              return view;
            });
  }

  private CompletionStage<ToolReply> settled(
      ToolCall call, String id, @Nullable String since, AgentProgress relay) {
    return settled(call.principal(), id)
        .thenCompose(
            view -> relay.upTo(view.offset()).thenCompose(done -> fetchReply(call, view, since)));
  }

  private CompletionStage<Threads.View> settled(String principal, String id) {
    Object call = new Object();
    CompletableFuture<Void> enough = new CompletableFuture<>();
    waiting.put(call, enough);
    CompletionStage<Threads.View> current = enough.thenCompose(now -> threads.get(principal, id));
    return threads
        .settled(principal, id, timeout)
        .applyToEither(current, view -> view)
        .whenComplete((view, thrown) -> waiting.remove(call));
  }

  /** Replies to waiting calls with the current state. */
  void handBack() {
    waiting.values().forEach(enough -> enough.complete(null));
  }

  private static @Nullable String callId(ToolCall call) {
    return callId(call, refused -> {});
  }

  private static @Nullable String callId(ToolCall call, Consumer<Violation> refused) {
    return FlowCall.callId(call.meta(), Bounds.KEY, refused);
  }

  private static String text(ObjectNode arguments, String name) {
    return String.valueOf(arguments.path(name).textValue());
  }

  // --- replies ---------------------------------------------------------------------------------

  /**
   * Creates the reply. What an agent said whom the caller may not use is not in it: what the call
   * did is done, and the next one is refused.
   *
   * @param since the message after which others are new; null for the user's last message
   */
  private CompletionStage<ToolReply> fetchReply(
      ToolCall call, Threads.View view, @Nullable String since) {
    if (!call.mayReach().test(view.agent())) {
      return CompletableFuture.completedFuture(working(view.threadId()));
    } else if (since != null && view.inbox().contains(since)) {
      // Nothing was said since a message that waits for its turn.
      return CompletableFuture.completedFuture(reply(view, new Threads.Messages(List.of(), null)));
    }
    return threads
        .messages(
            call.principal(),
            view.threadId(),
            Threads.MessageQuery.latest(PAGE)
                .showing(AgentAsTool::shown)
                .since(
                    message ->
                        since == null ? message.role() == Role.USER : message.id().equals(since))
                .asOf(view))
        .thenApply(page -> reply(view, page));
  }

  private static ToolReply reply(Threads.View view, Threads.Messages said) {
    ObjectNode body = Json.object();
    body.put("status", status(view));
    body.put("threadId", view.threadId());
    List<Message> inOrder = new ArrayList<>(said.messages());
    Collections.reverse(inOrder);
    ArrayNode messages = body.putArray("messages");
    inOrder.forEach(message -> messages.add(message(message)));
    body.set("questions", ThreadJson.questions(view.questions()));
    List<ChildThread> asking =
        view.children().stream()
            .filter(child -> child.status() == ChildThread.Status.ASKING)
            .toList();
    if (!view.waits().isEmpty()) {
      body.set("waits", ThreadJson.waits(view.waits()));
    }
    if (!asking.isEmpty()) {
      ArrayNode places = body.putArray("askingIn");
      asking.forEach(
          child ->
              places.addObject().put("agent", child.agent()).put("threadId", child.threadId()));
      body.put(
          "hint",
          "People are asked in the threads of askingIn; call the tool of the agent there with"
              + " action status and that threadId to read the questions");
    }
    if (view.code() != null) {
      body.put("code", view.code());
    }
    if (view.status() == Threads.Status.RESTING && !view.waits().isEmpty()) {
      body.put(
          "hint",
          "What the calls of waits come to is said later; call again with action status to read it,"
              + " or send meanwhile");
    }
    if (view.status() == Threads.Status.WORKING) {
      stillWorking(body);
    }
    if (said.before() != null) {
      body.put("hint", body.has("hint") ? body.path("hint").asText() + ". " + CUT : CUT);
    }
    return new ToolReply(body, Json.object());
  }

  /** What was sent is journaled, whatever keeps its outcome from the caller. */
  private static ToolReply working(ToolCall call, String threadId, Throwable failure) {
    logIfUnknown(call, failure);
    return working(threadId);
  }

  private static ToolReply working(String threadId) {
    ObjectNode body = Json.object().put("status", "working").put("threadId", threadId);
    body.putArray("messages");
    body.putArray("questions");
    return new ToolReply(stillWorking(body), Json.object());
  }

  private static ObjectNode stillWorking(ObjectNode body) {
    return body.put("code", HostError.STILL_WORKING.wireName())
        .put("hint", "The agent is still working; call again with action status to wait for it");
  }

  private static boolean shown(Message message) {
    boolean failed = message.status() == Message.Status.FAILED;
    return !message.silent()
        && message.role() != Role.TOOL
        && (failed || (message.content() != null && !message.content().isBlank()));
  }

  private static ObjectNode message(Message message) {
    ObjectNode json = ThreadJson.message(message);
    ObjectNode shown = Json.object();
    for (String name : List.of("id", "role", "content", "name", "status", "metadata")) {
      if (json.hasNonNull(name)) {
        shown.set(name, json.get(name));
      }
    }
    if (!message.attachments().isEmpty()) {
      shown.set("attachments", json.get("attachments"));
    }
    return shown;
  }

  private static String status(Threads.View view) {
    return switch (view.status()) {
      case WORKING -> "working";
      case ASKING -> "asking";
      case RESTING -> "rest";
    };
  }

  private static ToolReply ill(Map<String, String> wrong) {
    ObjectNode body =
        error(
            HostError.INVALID_ARGUMENTS.wireName(),
            HostError.INVALID_ARGUMENTS.failure().message());
    ArrayNode violations = body.putArray("violations");
    wrong.forEach((field, why) -> violations.addObject().put("field", field).put("message", why));
    return new ToolReply(body, Json.object());
  }

  private static ToolReply failed(ToolCall call, Throwable thrown) {
    ObjectNode body;
    logIfUnknown(call, thrown);
    Throwable cause = RootCauses.of(thrown);
    if (cause instanceof ThreadException known) {
      body = error(known.code(), String.valueOf(known.getMessage()));
    } else if (cause instanceof UnreachableAgentException lacking) {
      body = ToolReply.unreachable(lacking.agent()).structured();
    } else {
      body =
          error(
              HostError.STORE_UNAVAILABLE.wireName(),
              HostError.STORE_UNAVAILABLE.failure().message());
    }
    // What is no id is not repeated, however long it is.
    ThreadKey named = ThreadKey.of(call.arguments().path("threadId").asText());
    if (named != null) {
      body.put("threadId", named.threadId());
    }
    return new ToolReply(body, Json.object());
  }

  private static void logIfUnknown(ToolCall call, Throwable thrown) {
    Throwable cause = RootCauses.of(thrown);
    if (!(cause instanceof ThreadException || cause instanceof UnreachableAgentException)) {
      LOG.error("A call of the agent {} failed in the host", call.tool(), LoggedFailure.of(thrown));
    }
  }

  private static ObjectNode error(String code, String message) {
    return Json.object().put("status", "error").put("code", code).put("error", message);
  }

  // --- progress --------------------------------------------------------------------------------

  /** Relays progress of the thread during the call, if its client requested progress. */
  private CompletionStage<AgentProgress> relay(
      ToolCall call, Threads.View view, Consumer<ToolProgress> progress) {
    AgentProgress relay = new AgentProgress(agent.name(), view.agent(), call.mayReach(), progress);
    if (!call.meta().hasNonNull("progressToken")) {
      return CompletableFuture.completedFuture(relay);
    }
    return threads
        .follow(call.principal(), view.threadId(), view.offset() + 1, -1, relay)
        .thenApply(relay::of);
  }

  // --- schemas ---------------------------------------------------------------------------------

  private static ObjectNode input() {
    ObjectNode schema =
        Json.object()
            .put("$schema", "https://json-schema.org/draft/2020-12/schema")
            .put("type", "object");
    ObjectNode properties = schema.putObject("properties");
    ArrayNode actions = string(properties, "action", "What to do").putArray("enum");
    ACTIONS.forEach(actions::add);
    string(properties, "threadId", "The thread, as an earlier result named it; not to begin one");
    string(properties, "message", "What is said to the agent; with action send");
    string(properties, "call", "The call that a question is about; with action answer");
    string(
        properties,
        "question",
        "The id of the question that the user saw; refused if another one is open meanwhile");
    properties
        .putObject("approved")
        .put("type", "boolean")
        .put("description", "Whether the call may be made, as a person decided");
    properties
        .putObject("answers")
        .put("type", "object")
        .put("description", "A person's answers, by field");
    string(properties, "reason", "Why a person decided so");
    schema.putArray("required").add("action");
    return schema.put("additionalProperties", false);
  }

  /** Models read what results mean in the instructions, so only their common members are here. */
  private static ObjectNode output() {
    ObjectNode schema = Json.object().put("type", "object");
    ObjectNode properties = schema.putObject("properties");
    ArrayNode statuses = properties.putObject("status").putArray("enum");
    statuses.add("rest").add("asking").add("working").add("deleted").add("error");
    properties.putObject("threadId").put("type", "string");
    schema.putArray("required").add("status");
    return schema;
  }

  private static ObjectNode string(ObjectNode properties, String name, String description) {
    return properties.putObject(name).put("type", "string").put("description", description);
  }
}
