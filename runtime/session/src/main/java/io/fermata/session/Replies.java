package io.fermata.session;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.ErrorCode;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowProgram;
import io.fermata.flow.Json;
import io.fermata.flow.Outcome;
import io.fermata.flow.Program;
import io.fermata.flow.RunState;
import io.fermata.flow.StepEffect;
import java.util.List;
import java.util.Optional;

/** What the calls of one flow's sessions are told. Pure. */
record Replies(String flow, FlowCatalog catalog) {
  /** Says beside the run's name that it was handed out as a task; no client sees it. */
  static final String TASK = "task";

  JournalRecord.Reply of(ObjectNode body, RunState run, List<Calls.Visit> visited, long seq) {
    ObjectNode meta = Json.object();
    if (run.runId().isEmpty()) {
      return new JournalRecord.Reply(body, meta);
    }
    meta.put("runId", run.runId());
    meta.put("flow", flow);
    meta.put("version", run.version());
    meta.put("seq", seq);
    ArrayNode nodes = meta.putArray("nodesVisited");
    visited.forEach(v -> nodes.addObject().put("id", v.node()).put("at", Wire.time(v.at())));
    return new JournalRecord.Reply(body, meta);
  }

  JournalRecord.Reply of(Outcome outcome, RunState run, long seq) {
    return of(Wire.body(outcome), run, List.of(), seq);
  }

  /** A refusal that also carries what the run still waits for. */
  JournalRecord.Reply withOpen(Outcome.Failure failure, RunState run, long seq) {
    return of(failure.open(catalog.newest(flow).open(run)), run, seq);
  }

  JournalRecord.Reply status(SessionState state, long seq, long now) {
    RunState run = state.run();
    ObjectNode body = Wire.body(standing(state, now));
    if (run.running()) {
      body.set("run", Wire.run(run));
    }
    return of(body, run, List.of(), seq);
  }

  /** A reply that hands the run out as a task. */
  JournalRecord.Reply stillWorking(RunState run, long seq, boolean task) {
    return asTask(withOpen(HostError.STILL_WORKING.failure(), run, seq), task);
  }

  static JournalRecord.Reply asTask(JournalRecord.Reply reply, boolean task) {
    if (task && reply.run() instanceof ObjectNode run) {
      run.put(TASK, true);
    }
    return reply;
  }

  static JsonNode withoutTask(JsonNode run) {
    ObjectNode told = run.deepCopy();
    told.remove(TASK);
    return told;
  }

  /** Nothing is known of a run. */
  static ToolReply unknown() {
    ObjectNode meta = Json.object();
    meta.putObject("fermata/run")
        .put(HostTasks.STANDING, TaskView.Standing.UNKNOWN.name())
        .put(HostTasks.CHANGED_AT, 0);
    return new ToolReply(Wire.body(Outcome.Failure.of(ErrorCode.UNKNOWN_RUN)), meta);
  }

  /** How a run stands that was handed out as a task. */
  JournalRecord.Reply task(
      SessionState state, String runId, long seq, long now, Retention retention) {
    RunState run = state.run();
    if (!run.runId().equals(runId)) {
      return earlier(state, runId, now);
    }
    long keptUntil = retention.taskKnownUntil(run.changedAt());
    // Whoever looks keeps the session awake, which knows more than the store by then.
    if (!run.running() && keptUntil <= now) {
      return unknown(run);
    }
    JournalRecord.Reply reply = run.running() ? standing(state, seq, now) : end(state, seq);
    TaskView.Standing standing =
        switch (run.status()) {
          case RUNNING -> standing(reply);
          case CANCELLED -> TaskView.Standing.CANCELLED;
          case EXPIRED -> TaskView.Standing.EXPIRED;
          case COMPLETED, FAILED ->
              reply.body().isNull() ? TaskView.Standing.UNKNOWN : TaskView.Standing.ENDED;
          case NONE, ABANDONED -> TaskView.Standing.UNKNOWN;
        };
    JournalRecord.Reply viewed = viewed(standing, reply);
    ObjectNode told = (ObjectNode) viewed.run();
    told.put(HostTasks.CHANGED_AT, run.changedAt());
    if (!run.running()) {
      told.put(HostTasks.KEPT_UNTIL, keptUntil);
      return viewed;
    }
    told.set(HostTasks.ASKED, Json.tree(Asked.names(run)));
    String handle = state.origin() == null ? null : Conversation.handle(state.origin().session());
    if (handle != null) {
      ((ObjectNode) viewed.body()).put("sessionId", handle);
    }
    return viewed;
  }

  /** How a run stands whose session has another one now. */
  private JournalRecord.Reply earlier(SessionState state, String runId, long now) {
    JournalRecord.TaskEnd end = state.taskEnd(runId);
    if (end == null || end.keptUntil() <= now) {
      return unknown(state.run());
    }
    TaskView.Standing standing =
        switch (end.status()) {
          case CANCELLED, ABANDONED -> TaskView.Standing.CANCELLED;
          case EXPIRED -> TaskView.Standing.EXPIRED;
          default -> TaskView.Standing.ENDED;
        };
    JournalRecord.Reply viewed = viewed(standing, end.reply());
    ((ObjectNode) viewed.run())
        .put(HostTasks.CHANGED_AT, end.at())
        .put(HostTasks.KEPT_UNTIL, end.keptUntil());
    return viewed;
  }

  private JournalRecord.Reply unknown(RunState run) {
    return viewed(TaskView.Standing.UNKNOWN, of(Outcome.Failure.of(ErrorCode.UNKNOWN_RUN), run, 0));
  }

  /** What those are told of a run that was cancelled, be it for another. */
  JournalRecord.Reply cancelled(RunState run, long seq) {
    return of(cancelled(), run, List.of(), seq);
  }

  static ObjectNode cancelled() {
    return Wire.body(new Outcome.Complete(null)).put("cancelled", true);
  }

  /** The reply with how the run stands beside it, which is nobody's but the asker's. */
  private static JournalRecord.Reply viewed(TaskView.Standing standing, JournalRecord.Reply reply) {
    ObjectNode run = reply.run() instanceof ObjectNode told ? told.deepCopy() : Json.object();
    run.remove(TASK);
    return new JournalRecord.Reply(
        reply.body() instanceof ObjectNode body ? body.deepCopy() : Json.object(),
        run.put(HostTasks.STANDING, standing.name()));
  }

  private JournalRecord.Reply standing(SessionState state, long seq, long now) {
    RunState run = state.run();
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

  private static TaskView.Standing standing(JournalRecord.Reply reply) {
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
  private JournalRecord.Reply end(SessionState state, long seq) {
    JournalRecord.Reply last = state.last();
    Outcome untold = state.untold();
    if (last != null) {
      return last;
    }
    return untold == null
        ? new JournalRecord.Reply(NullNode.getInstance(), Json.object())
        : of(untold, state.run(), seq);
  }

  private Outcome standing(SessionState state, long now) {
    RunState run = state.run();
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
      Outcome untold = state.untold();
      return untold == null ? finish.outcome() : untold;
    }
    return HostError.STILL_WORKING.failure().open(program.get().open(run));
  }

  Outcome.Failure versionChanged(RunState run) {
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
