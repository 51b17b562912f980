package io.fermata.session.run;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.json.Json;
import io.fermata.session.actor.Calls;
import io.fermata.session.admin.Retention;
import io.fermata.session.call.FlowCall;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.call.QuestionIds;
import io.fermata.session.call.TaskView;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.Replaced;
import io.fermata.session.journal.RunEnd;
import io.fermata.session.journal.RunPhases;
import io.fermata.session.journal.RunReply;
import io.fermata.session.journal.SessionState;
import io.fermata.session.key.HostError;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Creates the replies to calls of one flow. Pure. */
public record RunReplies(String flow, FlowCatalog catalog) {
  /** Internal properties of a task's reply, removed before a client gets it. */
  public static final String STATUS = "status";

  public static final String ASKED = "asked";
  public static final String CHANGED_AT = "changedAt";
  public static final String KEPT_UNTIL = "keptUntil";

  /** The run that a start has ended, and the fields that were answered in it. */
  public static final String ABANDONED = "abandoned";

  RunReply of(ObjectNode body, RunState run, List<Calls.Visit> visited, long seq) {
    ObjectNode meta = Json.object();
    if (run.runId().isEmpty()) {
      return new RunReply(body, meta);
    }
    meta.put("runId", run.runId());
    meta.put("flow", flow);
    meta.put("version", run.version());
    meta.put("seq", seq);
    ArrayNode nodes = meta.putArray("nodesVisited");
    visited.forEach(v -> nodes.addObject().put("id", v.node()).put("at", OutcomeJson.time(v.at())));
    return new RunReply(body, meta);
  }

  RunReply of(Outcome outcome, RunState run, long seq) {
    return of(OutcomeJson.body(outcome), run, List.of(), seq);
  }

  /** A refusal; one because the run has completed carries the result, as long as it is kept. */
  RunReply refused(Outcome.Failure failure, SessionState<RunState> state, long seq) {
    RunReply refused = of(failure, state.program(), seq);
    if (failure.code().equals(ErrorCode.RUN_COMPLETED.wireName())) {
      OutcomeJson.copyResult(end(state, seq).body(), (ObjectNode) refused.body());
    }
    return refused;
  }

  /** A reply that says which run the start has ended, and with which answers. */
  RunReply replacing(@Nullable Replaced run, RunReply reply) {
    if (run == null) {
      return reply;
    }
    ObjectNode body = ((ObjectNode) reply.body()).deepCopy();
    OutcomeJson.hint(body, run.hint(catalog.secretFields(flow)));
    ObjectNode meta = ((ObjectNode) reply.run()).deepCopy();
    ObjectNode ended = meta.putObject(ABANDONED).put("runId", run.runId());
    run.answers().fieldNames().forEachRemaining(ended.putArray("answered")::add);
    return new RunReply(body, meta, reply.task());
  }

  /** A refusal with the open questions of the run. */
  RunReply withOpen(Outcome.Failure failure, RunState run, long seq) {
    return of(failure.open(catalog.newest(flow).open(run)), run, seq);
  }

  RunReply status(SessionState<RunState> state, long seq, long now) {
    RunState run = state.program();
    ObjectNode body = OutcomeJson.body(outcome(state, now));
    if (run.status() == RunState.Status.COMPLETED) {
      OutcomeJson.copyResult(end(state, seq).body(), body);
    } else if (run.running()) {
      ObjectNode report = OutcomeJson.run(run, withoutSecrets(run));
      Long expires =
          catalog.continuing(flow, run).map(program -> program.expiresAt(run)).orElse(null);
      if (expires != null) {
        report.put("expiresAt", OutcomeJson.time(expires));
      }
      body.set("run", report);
    }
    return of(body, run, List.of(), seq);
  }

  /** The state as a status shows it: the client sees secrets only where the flow returns them. */
  private JsonNode withoutSecrets(RunState run) {
    SecretFields fields = catalog.secretFields(flow);
    if (fields.isEmpty()) {
      return run.data();
    }
    Secrets secrets = new Secrets();
    secrets.learn(fields, run);
    return secrets.masked(fields.masked("", run.data()));
  }

  /** A reply while the run works; with a task, the run becomes one. */
  RunReply stillWorking(RunState run, long seq, boolean task) {
    return withOpen(HostError.STILL_WORKING.failure(), run, seq).asTask(task);
  }

  /** Why a run that is named cannot be reached. */
  public static Outcome.Failure noRun(String flow, String runId) {
    return Outcome.Failure.of(
        ErrorCode.UNKNOWN_RUN,
        "There is no run %s of %s, or its session has had a later one".formatted(runId, flow));
  }

  /** The reply for an unknown run. */
  public static ToolReply unknown() {
    ObjectNode meta = Json.object();
    meta.putObject("fermata/run").put(STATUS, TaskView.Status.UNKNOWN.name()).put(CHANGED_AT, 0);
    return new ToolReply(OutcomeJson.body(Outcome.Failure.of(ErrorCode.UNKNOWN_RUN)), meta);
  }

  /** The state of a task's run. */
  RunReply task(
      SessionState<RunState> state, String runId, long seq, long now, Retention retention) {
    RunState run = state.program();
    if (!run.runId().equals(runId)) {
      return earlier(state, runId, now);
    }
    long keptUntil = retention.taskKnownUntil(run.changedAt());
    // An awake session may know an end that the store has deleted already.
    if (!run.running() && keptUntil <= now) {
      return unknown(run);
    }
    RunReply reply = run.running() ? current(state, seq, now) : end(state, seq);
    TaskView.Status status =
        switch (run.status()) {
          case RUNNING -> taskStatus(reply);
          case CANCELLED -> TaskView.Status.CANCELLED;
          case EXPIRED -> TaskView.Status.EXPIRED;
          case COMPLETED, FAILED ->
              reply.body().isNull() ? TaskView.Status.UNKNOWN : TaskView.Status.ENDED;
          case NONE, ABANDONED -> TaskView.Status.UNKNOWN;
        };
    RunReply viewed = viewed(status, reply);
    ObjectNode meta = (ObjectNode) viewed.run();
    meta.put(CHANGED_AT, run.changedAt());
    if (!run.running()) {
      meta.put(KEPT_UNTIL, keptUntil);
      return viewed;
    }
    meta.set(ASKED, Json.tree(QuestionIds.names(run)));
    return withHandle(state, viewed);
  }

  /**
   * A run that is undone while none of its callers waits has one reply for all of them; who has
   * cancelled it gets the one that a wait would have brought.
   */
  static RunReply toCanceller(RunReply recorded) {
    boolean cancelled =
        recorded.body().path("code").asText().equals(ErrorCode.RUN_CANCELLED.wireName());
    return cancelled
        ? new RunReply(OutcomeJson.cancelled(), recorded.run(), recorded.task())
        : recorded;
  }

  /** A task is viewed without its session, which forgets its handle with the end of the run. */
  static RunReply withHandle(SessionState<RunState> state, RunReply reply) {
    String handle = handle(state);
    if (handle == null) {
      return reply;
    }
    ObjectNode body = Json.object().setAll((ObjectNode) reply.body());
    return new RunReply(body.put("sessionId", handle), reply.run(), reply.task());
  }

  private static @Nullable String handle(SessionState<RunState> state) {
    Entry.Owner owner = state.owner();
    if (owner != null) {
      return FlowCall.handle(owner.session());
    }
    RunReply last = state.lastReply();
    return last == null ? null : last.body().path("sessionId").textValue();
  }

  /** The end of a task whose session has another run now. */
  private RunReply earlier(SessionState<RunState> state, String runId, long now) {
    RunEnd.TaskEnd end = state.taskEnd(runId);
    if (end == null || end.keptUntil() <= now) {
      return unknown(state.program());
    }
    TaskView.Status status =
        switch (end.status()) {
          case CANCELLED, ABANDONED -> TaskView.Status.CANCELLED;
          case EXPIRED -> TaskView.Status.EXPIRED;
          default -> TaskView.Status.ENDED;
        };
    RunReply viewed = viewed(status, end.reply());
    ((ObjectNode) viewed.run()).put(CHANGED_AT, end.at()).put(KEPT_UNTIL, end.keptUntil());
    return viewed;
  }

  private RunReply unknown(RunState run) {
    return viewed(TaskView.Status.UNKNOWN, of(Outcome.Failure.of(ErrorCode.UNKNOWN_RUN), run, 0));
  }

  /** The reply for a cancelled or replaced run. */
  RunReply cancelled(RunState run, long seq) {
    return of(OutcomeJson.cancelled(), run, List.of(), seq);
  }

  /** A copy of the reply with the status of the task. */
  private static RunReply viewed(TaskView.Status status, RunReply reply) {
    ObjectNode run = reply.run() instanceof ObjectNode meta ? meta.deepCopy() : Json.object();
    return new RunReply(
        reply.body() instanceof ObjectNode body ? body.deepCopy() : Json.object(),
        run.put(STATUS, status.name()));
  }

  private RunReply current(SessionState<RunState> state, long seq, long now) {
    RunState run = state.program();
    Optional<FlowProgram<?>> program = catalog.of(flow, run);
    // Questions that are asked again carry the errors of the last answers.
    Outcome outcome =
        program.isPresent()
                && !program.get().expired(run, now)
                && program.get().next(run) instanceof Program.Pause<StepEffect> pause
            ? pause.outcome()
            : outcome(state, now);
    return of(outcome, run, seq);
  }

  /** What a caller was asked before; null if a call without answers has something else to do. */
  @Nullable RunReply asked(SessionState<RunState> state, long seq, long now) {
    RunState run = state.program();
    return RunPhases.onlyAsks(run)
            && catalog
                .of(flow, run)
                .filter(program -> !program.expired(run, now) && !program.unseen(run))
                .isPresent()
        ? current(state, seq, now)
        : null;
  }

  private static TaskView.Status taskStatus(RunReply reply) {
    String code = reply.body().path("code").asText();
    if (code.equals(HostError.STILL_WORKING.wireName()) || OutcomeJson.waits(reply.body())) {
      return TaskView.Status.WORKING;
    } else if (code.equals(ErrorCode.RUN_EXPIRED.wireName())) {
      return TaskView.Status.EXPIRED;
    }
    return code.equals(ErrorCode.VERSION_CHANGED.wireName())
        ? TaskView.Status.UNREACHABLE
        : TaskView.Status.INPUT_REQUIRED;
  }

  /** The last reply of the run, or what no client fetched; without a body if neither is kept. */
  private RunReply end(SessionState<RunState> state, long seq) {
    RunReply last = state.lastReply();
    Outcome unclaimed = state.unclaimed();
    if (last != null) {
      return last;
    }
    return unclaimed == null
        ? new RunReply(NullNode.getInstance(), Json.object())
        : of(unclaimed, state.program(), seq);
  }

  private Outcome outcome(SessionState<RunState> state, long now) {
    RunState run = state.program();
    Optional<FlowProgram<?>> program =
        run.running() ? catalog.of(flow, run) : Optional.of(catalog.newest(flow));
    Optional<FlowProgram<?>> heir = catalog.versions(flow).takingOver(run);
    if (program.isEmpty() && (heir.isEmpty() || run.works())) {
      return versionChanged(run).open(catalog.newest(flow).open(run));
    } else if (program.or(() -> heir).orElseThrow().expired(run, now)) {
      return Outcome.Failure.of(ErrorCode.RUN_EXPIRED);
    } else if (program.isEmpty()) {
      return heir.orElseThrow().now(run);
    }
    Program.Next<StepEffect> next = program.get().next(run);
    if (next instanceof Program.Pause<StepEffect>) {
      return program.get().now(run);
    } else if (next instanceof Program.Finish<StepEffect> finish) {
      Outcome unclaimed = state.unclaimed();
      return unclaimed == null ? finish.outcome() : unclaimed;
    }
    return HostError.STILL_WORKING.failure().open(program.get().open(run));
  }

  public Outcome.Failure versionChanged(RunState run) {
    return catalog.versions(flow).changed(run);
  }
}
