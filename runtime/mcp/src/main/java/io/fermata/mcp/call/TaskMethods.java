package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.ToolScopes;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.TaskView;
import io.fermata.session.call.Tasks;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Runs as tasks: the extension {@code io.modelcontextprotocol/tasks}. */
public final class TaskMethods {
  public static final String EXTENSION = "io.modelcontextprotocol/tasks";

  /** The poll interval for a run that works. */
  private static final long POLL_MILLIS = 1_000;

  /** The shortest and the longest poll interval for a run that waits. */
  private static final long POLL_WAITING_MILLIS = 5_000;

  private static final long POLL_DAILY_MILLIS = 86_400_000;

  /** A run that has waited for long is expected to wait for longer. */
  private static final int POLLS_PER_WAIT = 10;

  /** The codes after which the run continues by itself. */
  static final Set<String> CONTINUES =
      Set.of(
          HostError.STILL_WORKING.wireName(),
          ErrorCode.RUN_ENDING.wireName(),
          ErrorCode.VISIT_LIMIT.wireName());

  /** The codes of answers that do not fit their fields, or are too large for their run. */
  private static final Set<String> MENDABLE =
      Set.of(
          ErrorCode.INVALID_UPDATES.wireName(),
          ErrorCode.STATE_TOO_LARGE.wireName(),
          HostError.CALL_TOO_LARGE.wireName());

  private final Tasks tasks;
  private final TaskIds ids;
  private final ResultWriter results;
  private final ToolReplyJson replies;
  private final LongSupplier clock;
  private final ToolScopes scopes;

  public TaskMethods(
      Tasks tasks,
      TaskIds ids,
      ResultWriter results,
      ToolReplyJson replies,
      LongSupplier clock,
      ToolScopes scopes) {
    this.tasks = tasks;
    this.ids = ids;
    this.results = results;
    this.replies = replies;
    this.clock = clock;
    this.scopes = scopes;
  }

  /** Whether the client of a request accepts tasks. */
  static boolean declared(McpRequest request) {
    return request.revision().modern()
        && request.capabilities().path("extensions").path(EXTENSION).isObject();
  }

  /**
   * Requires that the client accepts tasks.
   *
   * @throws RpcException if it does not declare them
   */
  static void require(McpRequest request) {
    if (!declared(request)) {
      ObjectNode needed = Json.object();
      needed.putObject("extensions").putObject(EXTENSION);
      throw RpcException.missingCapability(needed, request.revision().modern());
    }
  }

  // --- calls -----------------------------------------------------------------------------------

  /**
   * The result of a call for its client.
   *
   * @throws RpcException if its conversation was handed over to an agent whose scopes the caller
   *     lacks
   */
  RpcResult result(ToolCall call, ToolReply reply, McpRequest request) {
    String unreachable = reply.unreachableAgent();
    if (unreachable != null) {
      scopes.require(unreachable, request.caller());
    }
    String runId = reply.meta().path(ToolReplyJson.RUN).path("runId").asText();
    return reply.task() && call.takesTask()
        ? created(new TaskRun(call.principal(), call.tool(), runId), reply)
        : results.ofTool(request.revision(), reply);
  }

  /** The result of a call whose run continues as a task. */
  RpcResult created(TaskRun run, ToolReply reply) {
    long now = clock.getAsLong();
    ObjectNode fields = fields(ids.mint(run, now), "working", now, null);
    JsonNode context = reply.structured().path("context");
    if (context.isTextual()) {
      fields.set("statusMessage", context);
    }
    return results.task(fields.put("pollIntervalMs", pollMillis(reply.structured(), now)));
  }

  // --- methods ---------------------------------------------------------------------------------

  /** The method {@code tasks/get}. */
  public CompletionStage<RpcResult> get(McpRequest request) {
    TaskIds.Task task = requireTask(request);
    return tasks
        .view(task.run())
        .thenApply(view -> results.once(request.revision(), taskJson(task, view, request)));
  }

  /** The method {@code tasks/update}. */
  public CompletionStage<RpcResult> update(McpRequest request) {
    TaskIds.Task task = requireTask(request);
    JsonNode responses = request.params().get("inputResponses");
    if (responses == null || !responses.isObject()) {
      throw RpcException.invalidParams("The parameter inputResponses must be an object.");
    }
    return tasks
        .view(task.run())
        .thenCompose(
            view -> {
              requireKnown(view);
              return update(task.run(), view, forms(view).filled(responses));
            })
        .thenApply(done -> results.once(request.revision(), Json.object()));
  }

  /** A declined form cancels the run: nobody else is asked. */
  private CompletionStage<Void> update(TaskRun run, TaskView view, ElicitationForms.Filled filled) {
    if (!filled.unfit().isEmpty()) {
      throw RpcException.invalidParams(
          "The response for %s does not match its request: send what the request's schema asks for, or decline."
              .formatted(RpcException.abbreviate(String.join(", ", filled.unfit()))));
    } else if (!filled.declined().isEmpty()) {
      return cancel(run);
    }
    CompletionStage<Void> answered =
        filled.answers().isEmpty()
            ? CompletableFuture.completedFuture(null)
            : answer(run, view, filled.answers());
    return filled.postponed().isEmpty()
        ? answered
        : answered.thenCompose(done -> postpone(run, view, filled.postponed()));
  }

  private CompletionStage<Void> answer(TaskRun run, TaskView view, ObjectNode answers) {
    return tasks
        .answer(run, answers, view.asked())
        .thenCompose(taken -> requireTaken(run, taken, now -> stillAsked(view, now, answers)));
  }

  /** The key of a request that was replied to is not used again. */
  private CompletionStage<Void> postpone(TaskRun run, TaskView view, Set<String> fields) {
    Map<String, String> asked = new LinkedHashMap<>(view.asked());
    asked.keySet().retainAll(fields);
    return tasks
        .postpone(run, asked)
        .thenCompose(done -> requireTaken(run, done, now -> stillAsked(asked, now)));
  }

  private CompletionStage<Void> cancel(TaskRun run) {
    return tasks
        .cancel(run)
        .thenCompose(done -> requireTaken(run, done, now -> isRefused(done) && isUnfinished(now)));
  }

  private static boolean isUnfinished(TaskView view) {
    return view.status() == TaskView.Status.WORKING
        || view.status() == TaskView.Status.INPUT_REQUIRED;
  }

  /**
   * Requires that a run has taken a command. An error may also be where the command has led.
   *
   * @param asBefore whether the run is as it was before the command
   * @throws RpcException in the stage, if nothing was taken, or that cannot be known
   */
  private CompletionStage<Void> requireTaken(
      TaskRun run, ToolReply reply, Predicate<TaskView> asBefore) {
    if (!reply.error()) {
      return CompletableFuture.completedFuture(null);
    }
    return tasks
        .view(run)
        .thenAccept(
            now -> {
              if (asBefore.test(now)
                  || (now.status() == TaskView.Status.UNREACHABLE && isRefused(reply))) {
                throw isMendable(reply)
                    ? RpcException.invalidParams(reply.structured().path("error").asText())
                    : unreachable(reply);
              }
            });
  }

  /** Whether all that was answered is asked as before, so that nothing of it was taken. */
  static boolean stillAsked(TaskView before, TaskView now, ObjectNode answers) {
    Map<String, String> answered = new LinkedHashMap<>(before.asked());
    answered.keySet().removeIf(field -> !answers.has(field));
    return stillAsked(answered, now);
  }

  private static boolean stillAsked(Map<String, String> asked, TaskView now) {
    return now.asked().entrySet().containsAll(asked.entrySet());
  }

  /** Whether a command was refused; of others, the run continues by itself. */
  static boolean isRefused(ToolReply reply) {
    return reply.error() && !CONTINUES.contains(code(reply));
  }

  /** Whether another answer in place of one that was refused may be taken. */
  static boolean isMendable(ToolReply refusal) {
    return MENDABLE.contains(code(refusal));
  }

  private static String code(ToolReply reply) {
    return reply.structured().path("code").asText();
  }

  /** The method {@code tasks/cancel}. */
  public CompletionStage<RpcResult> cancel(McpRequest request) {
    TaskIds.Task task = requireTask(request);
    return tasks
        .view(task.run())
        .thenCompose(
            view -> {
              requireKnown(view);
              return cancel(task.run());
            })
        .thenApply(done -> results.once(request.revision(), Json.object()));
  }

  private TaskIds.Task requireTask(McpRequest request) {
    require(request);
    TaskIds.Task task = find(request.text("taskId"), request.caller());
    if (task == null) {
      throw unknown();
    }
    return task;
  }

  private static RpcException unknown() {
    return RpcException.invalidParams(
        "There is no such task: it belongs to another caller, or is no longer kept. Call the tool again.");
  }

  /**
   * The task of an id; null if the id was not minted for the caller.
   *
   * @throws RpcException if the caller may not use the task's tool
   */
  TaskIds.@Nullable Task find(String id, AuthenticatedCaller caller) {
    TaskIds.Task task = ids.read(id, caller.principal());
    if (task != null) {
      scopes.require(task.run().tool(), caller);
    }
    return task;
  }

  Tasks tasks() {
    return tasks;
  }

  // --- tasks as JSON --------------------------------------------------------------------------

  private static void requireKnown(TaskView view) {
    if (view.status() == TaskView.Status.UNKNOWN) {
      throw unknown();
    } else if (view.status() == TaskView.Status.UNREACHABLE) {
      throw unreachable(view.reply());
    }
  }

  /** Whether a run cannot be read for a temporary reason. */
  static boolean unavailable(TaskView view) {
    return view.status() == TaskView.Status.UNREACHABLE
        && HostError.isTemporary(code(view.reply()));
  }

  /** The run exists, but cannot be read or changed now. */
  static RpcException unreachable(ToolReply reply) {
    return HostError.isTemporary(code(reply))
        ? RpcException.overloaded()
        : RpcException.failed(reply.structured().path("error").asText());
  }

  /** The open questions as forms, under names that are unique within the run. */
  private static ElicitationForms forms(TaskView view) {
    Map<String, String> asked = view.asked();
    return asked.isEmpty()
        ? ElicitationForms.NONE
        : ElicitationForms.of(
            view.reply().structured(),
            field -> Objects.requireNonNull(asked.get(field), () -> "No id of " + field));
  }

  /** The forms of the open questions that the client can show; none if it cannot show them all. */
  static ElicitationForms shown(TaskView view, McpRequest request) {
    if (!request.capabilities().path("elicitation").isObject()) {
      return ElicitationForms.NONE;
    }
    ElicitationForms forms = forms(view);
    return forms.supportedBy(request.capabilities(), request.revision())
        ? forms
        : ElicitationForms.NONE;
  }

  /** How the open questions that are not {@link #shown} can be. */
  static String unshown(TaskView view, McpRequest request) {
    ElicitationForms forms = forms(view);
    if (forms.isEmpty()) {
      return "no form has what it asks for, so offer the flow as a flow.";
    }
    boolean declares = request.capabilities().path("elicitation").isObject();
    return declares && !forms.isIn(request.revision())
        ? "use one of a revision whose forms have lists, such as %s."
            .formatted(Revision.WITH_LISTS.text)
        : "use a client that declares elicitation with forms.";
  }

  /**
   * A task as JSON.
   *
   * @throws RpcException if the run is unknown or cannot be read
   */
  ObjectNode taskJson(TaskIds.Task task, TaskView view, McpRequest request) {
    requireKnown(view);
    return switch (view.status()) {
      case WORKING -> working(task, view, request);
      case INPUT_REQUIRED -> paused(task, view, request);
      case ENDED -> completed(task, view, request);
      case CANCELLED -> fields(task, "cancelled", view);
      default -> expired(task, view);
    };
  }

  private ObjectNode working(TaskIds.Task task, TaskView view, McpRequest request) {
    ElicitationForms forms = shown(view, request);
    if (!forms.isEmpty()) {
      return inputRequired(task, view, forms);
    }
    ObjectNode fields = fields(task, "working", view);
    long since = view.changedAt().toEpochMilli();
    return fields.put("pollIntervalMs", pollMillis(view.reply().structured(), since));
  }

  /**
   * A run that sleeps is worth a look when it wakes. For a signal or a person, the longer a run has
   * waited, the less often.
   */
  private long pollMillis(ObjectNode reply, long since) {
    return OutcomeJson.waits(reply)
        ? reply.path("waitsFor").asText().equals("time")
            ? until(reply)
            : Math.min(waitedMillis(since), until(reply))
        : POLL_MILLIS;
  }

  private long until(ObjectNode reply) {
    String until = reply.path("until").asText();
    long left =
        until.isEmpty()
            ? POLL_DAILY_MILLIS
            : Instant.parse(until).toEpochMilli() - clock.getAsLong();
    return Math.max(POLL_MILLIS, Math.min(left, POLL_DAILY_MILLIS));
  }

  private long waitedMillis(long since) {
    long waited = (clock.getAsLong() - since) / POLLS_PER_WAIT;
    return Math.max(POLL_WAITING_MILLIS, Math.min(waited, POLL_DAILY_MILLIS));
  }

  /**
   * If no form fits, the reply goes to the client's model as the result of a call, and it may call
   * again.
   */
  private ObjectNode paused(TaskIds.Task task, TaskView view, McpRequest request) {
    ElicitationForms forms = shown(view, request);
    return forms.isEmpty() ? completed(task, view, request) : inputRequired(task, view, forms);
  }

  private ObjectNode inputRequired(TaskIds.Task task, TaskView view, ElicitationForms forms) {
    ObjectNode fields = fields(task, "input_required", view);
    ObjectNode requests = fields.putObject("inputRequests");
    forms.asks().forEach((key, ask) -> requests.set(key, ask.json()));
    return fields.put("pollIntervalMs", waitedMillis(view.changedAt().toEpochMilli()));
  }

  private ObjectNode completed(TaskIds.Task task, TaskView view, McpRequest request) {
    ObjectNode fields = fields(task, "completed", view);
    RpcResult result = replies.result(task.run().tool(), view.reply(), request.revision());
    return fields.set("result", JsonRpcCodec.tree(result));
  }

  private static ObjectNode expired(TaskIds.Task task, TaskView view) {
    RpcException why =
        RpcException.failed("The run waited for too long and has expired: make a new call.");
    ObjectNode fields = fields(task, "failed", view).put("statusMessage", why.reason);
    fields.putObject("error").put("code", why.code).put("message", why.reason);
    return fields;
  }

  private static ObjectNode fields(TaskIds.Task task, String status, TaskView view) {
    long changed = Math.max(task.createdAt(), view.changedAt().toEpochMilli());
    return fields(task, status, changed, view.keptUntil());
  }

  /** A task has no time limit until its run has ended. */
  private static ObjectNode fields(
      TaskIds.Task task, String status, long changed, @Nullable Instant keptUntil) {
    ObjectNode fields = Json.object().put("taskId", task.id()).put("status", status);
    fields.put("createdAt", Instant.ofEpochMilli(task.createdAt()).toString());
    fields.put("lastUpdatedAt", Instant.ofEpochMilli(changed).toString());
    if (keptUntil == null) {
      return fields.putNull("ttlMs");
    }
    return fields.put("ttlMs", keptUntil.toEpochMilli() - task.createdAt());
  }
}
