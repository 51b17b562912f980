package io.fermata.session;

import com.fasterxml.jackson.databind.node.ArrayNode;
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

  JournalRecord.Reply of(ObjectNode body, RunState run, List<Calls.Visit> visited, long seq) {
    ObjectNode meta = Json.object();
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
