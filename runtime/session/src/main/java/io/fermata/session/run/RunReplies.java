package io.fermata.session.run;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.json.Json;
import io.fermata.session.actor.Calls;
import io.fermata.session.admin.Retention;
import io.fermata.session.call.Conversation;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.call.QuestionIds;
import io.fermata.session.call.TaskView;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.RunEnd;
import io.fermata.session.journal.RunReply;
import io.fermata.session.journal.SessionState;
import io.fermata.session.journal.Standstill;
import io.fermata.session.key.HostError;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What the calls of one flow's sessions are told. Pure. */
public record RunReplies(String flow, FlowCatalog catalog) {
  /** What the view of a task has beside the reply; no client sees it. */
  public static final String STANDING = "standing";

  public static final String ASKED = "asked";
  public static final String CHANGED_AT = "changedAt";
  public static final String KEPT_UNTIL = "keptUntil";

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

  /** A refusal that also carries what the run still waits for. */
  RunReply withOpen(Outcome.Failure failure, RunState run, long seq) {
    return of(failure.open(catalog.newest(flow).open(run)), run, seq);
  }

  RunReply status(SessionState<RunState> state, long seq, long now) {
    RunState run = state.program();
    ObjectNode body = OutcomeJson.body(standing(state, now));
    if (run.running()) {
      body.set("run", OutcomeJson.run(run));
    }
    return of(body, run, List.of(), seq);
  }

  /** A reply that hands the run out as a task. */
  RunReply stillWorking(RunState run, long seq, boolean task) {
    return withOpen(HostError.STILL_WORKING.failure(), run, seq).asTask(task);
  }

  /** Nothing is known of a run. */
  public static ToolReply unknown() {
    ObjectNode meta = Json.object();
    meta.putObject("fermata/run")
        .put(STANDING, TaskView.Standing.UNKNOWN.name())
        .put(CHANGED_AT, 0);
    return new ToolReply(OutcomeJson.body(Outcome.Failure.of(ErrorCode.UNKNOWN_RUN)), meta);
  }

  /** How a run stands that was handed out as a task. */
  RunReply task(
      SessionState<RunState> state, String runId, long seq, long now, Retention retention) {
    RunState run = state.program();
    if (!run.runId().equals(runId)) {
      return earlier(state, runId, now);
    }
    long keptUntil = retention.taskKnownUntil(run.changedAt());
    // Whoever looks keeps the session awake, which knows more than the store by then.
    if (!run.running() && keptUntil <= now) {
      return unknown(run);
    }
    RunReply reply = run.running() ? standing(state, seq, now) : end(state, seq);
    TaskView.Standing standing =
        switch (run.status()) {
          case RUNNING -> standing(reply);
          case CANCELLED -> TaskView.Standing.CANCELLED;
          case EXPIRED -> TaskView.Standing.EXPIRED;
          case COMPLETED, FAILED ->
              reply.body().isNull() ? TaskView.Standing.UNKNOWN : TaskView.Standing.ENDED;
          case NONE, ABANDONED -> TaskView.Standing.UNKNOWN;
        };
    RunReply viewed = viewed(standing, reply);
    ObjectNode told = (ObjectNode) viewed.run();
    told.put(CHANGED_AT, run.changedAt());
    if (!run.running()) {
      told.put(KEPT_UNTIL, keptUntil);
      return viewed;
    }
    told.set(ASKED, Json.tree(QuestionIds.names(run)));
    String handle = handle(state.owner());
    if (handle != null) {
      ((ObjectNode) viewed.body()).put("sessionId", handle);
    }
    return viewed;
  }

  /** How a run stands whose session has another one now. */
  private RunReply earlier(SessionState<RunState> state, String runId, long now) {
    RunEnd.TaskEnd end = state.taskEnd(runId);
    if (end == null || end.keptUntil() <= now) {
      return unknown(state.program());
    }
    TaskView.Standing standing =
        switch (end.status()) {
          case CANCELLED, ABANDONED -> TaskView.Standing.CANCELLED;
          case EXPIRED -> TaskView.Standing.EXPIRED;
          default -> TaskView.Standing.ENDED;
        };
    RunReply viewed = viewed(standing, end.reply());
    ((ObjectNode) viewed.run()).put(CHANGED_AT, end.at()).put(KEPT_UNTIL, end.keptUntil());
    return viewed;
  }

  private static @Nullable String handle(Entry.@Nullable Owner owner) {
    return owner == null ? null : Conversation.handle(owner.session());
  }

  private RunReply unknown(RunState run) {
    return viewed(TaskView.Standing.UNKNOWN, of(Outcome.Failure.of(ErrorCode.UNKNOWN_RUN), run, 0));
  }

  /** What those are told of a run that was cancelled, be it for another. */
  RunReply cancelled(RunState run, long seq) {
    return of(cancelled(), run, List.of(), seq);
  }

  static ObjectNode cancelled() {
    return OutcomeJson.body(new Outcome.Complete(null)).put("cancelled", true);
  }

  /** The reply with how the run stands beside it, which is nobody's but the asker's. */
  private static RunReply viewed(TaskView.Standing standing, RunReply reply) {
    ObjectNode run = reply.run() instanceof ObjectNode told ? told.deepCopy() : Json.object();
    return new RunReply(
        reply.body() instanceof ObjectNode body ? body.deepCopy() : Json.object(),
        run.put(STANDING, standing.name()));
  }

  private RunReply standing(SessionState<RunState> state, long seq, long now) {
    RunState run = state.program();
    Optional<FlowProgram<?>> program = catalog.of(flow, run);
    // What was wrong with the last answers belongs to the questions that are put again.
    Outcome outcome =
        program.isPresent()
                && !program.get().expired(run, now)
                && program.get().next(run) instanceof Program.Pause<StepEffect> pause
            ? pause.outcome()
            : standing(state, now);
    return of(outcome, run, seq);
  }

  private static TaskView.Standing standing(RunReply reply) {
    String code = reply.body().path("code").asText();
    if (code.equals(HostError.STILL_WORKING.wireName())
        || code.equals(ErrorCode.WAITING.wireName())) {
      return TaskView.Standing.WORKING;
    } else if (code.equals(ErrorCode.RUN_EXPIRED.wireName())) {
      return TaskView.Standing.EXPIRED;
    }
    return code.equals(ErrorCode.VERSION_CHANGED.wireName())
        ? TaskView.Standing.UNREACHABLE
        : TaskView.Standing.STANDING;
  }

  /** What the run ended with, as far as it is kept; with no body where it is not. */
  private RunReply end(SessionState<RunState> state, long seq) {
    RunReply last = state.lastReply();
    Outcome untold = state.unclaimed();
    if (last != null) {
      return last;
    }
    return untold == null
        ? new RunReply(NullNode.getInstance(), Json.object())
        : of(untold, state.program(), seq);
  }

  private Outcome standing(SessionState<RunState> state, long now) {
    RunState run = state.program();
    Optional<FlowProgram<?>> program =
        run.running() ? catalog.of(flow, run) : Optional.of(catalog.newest(flow));
    Optional<FlowProgram<?>> heir = catalog.takingOver(flow, run);
    if (program.isEmpty() && heir.isPresent() && !Standstill.works(run)) {
      return heir.get().now(run);
    } else if (program.isEmpty()) {
      return versionChanged(run).open(catalog.newest(flow).open(run));
    }
    if (program.get().expired(run, now)) {
      return Outcome.Failure.of(ErrorCode.RUN_EXPIRED);
    }
    Program.Next<StepEffect> next = program.get().next(run);
    if (next instanceof Program.Pause<StepEffect>) {
      return program.get().now(run);
    } else if (next instanceof Program.Finish<StepEffect> finish) {
      Outcome untold = state.unclaimed();
      return untold == null ? finish.outcome() : untold;
    }
    return HostError.STILL_WORKING.failure().open(program.get().open(run));
  }

  public Outcome.Failure versionChanged(RunState run) {
    Flow<?> newest = catalog.newest(flow).flow();
    return Outcome.Failure.of(
        ErrorCode.VERSION_CHANGED,
        "The run began on %s version %d (%s); this server has version %d (%s). %s."
            .formatted(
                flow,
                run.version(),
                run.fingerprint(),
                newest.version(),
                newest.fingerprint(),
                ErrorCode.VERSION_CHANGED.repair()));
  }
}
