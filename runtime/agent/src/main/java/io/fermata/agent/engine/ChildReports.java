package io.fermata.agent.engine;

import io.fermata.agent.Agents;
import io.fermata.agent.Offered;
import io.fermata.agent.SubAgent;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.flow.event.Outcome;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** Takes in what the children of a thread report. */
final class ChildReports {
  private final Agents agents;
  private final TurnLoop loop;

  ChildReports(Agents agents, TurnLoop loop) {
    this.agents = agents;
    this.loop = loop;
  }

  /** Null if it was taken, or changes nothing. */
  Outcome.@Nullable Failure take(ThreadInput.OfChild input) {
    ChildThread child = loop.state().children().get(input.child());
    if (input instanceof ThreadInput.ChildSpent spent) {
      // A child that is not known yet has a total to count once it is, but waits for no release.
      boolean early = child == null && !spent.total().equals(Usage.ZERO) && !held();
      count(child, spent.total(), spent.at());
      return early ? notYet() : null;
    } else if (delegating(input.child())) {
      return notYet();
    } else if (child == null) {
      return null;
    } else if (input instanceof ThreadInput.Report report) {
      reported(child, report);
    } else if (input instanceof ThreadInput.ChildStatusChanged changed) {
      statusChanged(child, changed);
    } else if (input instanceof ThreadInput.ChildDeleted gone) {
      deleted(child, gone);
    }
    return null;
  }

  private static Outcome.Failure notYet() {
    return ThreadProgram.failure(
        "not_yet", "The call of the child is still being delegated; retry");
  }

  /** Whether a call is being delegated to a child, which may report before that is journaled. */
  private boolean delegating(String child) {
    return performs((site, call) -> mayReach(site.offered(call), call, child));
  }

  /** Whether the call to a new child may wait for a release that has what this one lacks. */
  private boolean held() {
    return agents.find(loop.state().agent()) == null || performs(CallSite::lacks);
  }

  private boolean performs(BiPredicate<CallSite, CallState> which) {
    for (StepFrame frame : loop.state().frames().values()) {
      CallSite site = CallSite.of(agents, loop.state(), frame);
      for (CallState call : frame.calls()) {
        if (call.performed() && which.test(site, call)) {
          return true;
        }
      }
    }
    return false;
  }

  /** What is called may be a relation, too, if the release lacks it. */
  private boolean mayReach(@Nullable Offered offered, CallState call, String child) {
    ChildThread known = loop.state().children().get(child);
    if (offered instanceof SubAgent relation) {
      String to = ToolCalls.reference(relation, call, loop.state());
      return to == null ? known == null : to.equals(child);
    } else if (offered == null) {
      String to = ToolCalls.reference(call);
      boolean related = known == null || known.relation().equals(call.call().name());
      return to == null ? related : to.equals(child);
    }
    return false;
  }

  private void count(@Nullable ChildThread child, Usage total, long at) {
    if (child != null && total.follows(child.usage())) {
      loop.emit(new ThreadEvent.ChildSpent(child.threadId(), total, at));
    }
  }

  /** Whether this report, or a later one, has been applied. */
  private static boolean known(ChildThread child, long report) {
    return !child.note().isEmpty() && Long.parseLong(child.note()) >= report;
  }

  private void statusChanged(ChildThread child, ThreadInput.ChildStatusChanged changed) {
    if (!known(child, changed.report())) {
      loop.emit(
          new ThreadEvent.ChildStatusChanged(
              changed.child(), changed.report(), changed.status(), changed.at()));
      loop.advance();
    }
  }

  private void reported(ChildThread child, ThreadInput.Report report) {
    if (known(child, report.report())) {
      return;
    }
    count(child, report.spent(), report.at());
    CallState waiting = loop.state().delegatedTo(child.threadId());
    boolean answers = waiting == null || report.answers(waiting);
    loop.emit(
        new ThreadEvent.ChildReported(
            report.child(),
            report.report(),
            report.failed(),
            report.text(),
            report.working() || !answers,
            report.call(),
            report.at()));
    String text = result(child, report.text());
    ended(
        child,
        answers ? waiting : null,
        report.failed() ? ToolResult.error(text) : ToolResult.success(text),
        (report.failed() ? "failed:\n" : "returned the following result:\n") + report.text(),
        report.at());
  }

  /** A call that waits for a deleted child fails. */
  private void deleted(ChildThread child, ThreadInput.ChildDeleted gone) {
    boolean done = child.rests();
    CallState waiting = loop.state().delegatedTo(child.threadId());
    count(child, gone.spent(), gone.at());
    loop.emit(new ThreadEvent.ChildDeleted(gone.child(), gone.at()));
    ended(
        child,
        waiting,
        ToolResult.error("deleted", result(child, "failed: deleted")),
        done ? null : "failed: deleted",
        gone.at());
  }

  private static String result(ChildThread child, String text) {
    return "Reference: " + child.threadId() + "\n" + text;
  }

  /**
   * Ends the call that waits for a child, or says in a message to its side what became of it.
   *
   * @param waiting the call; null if none waits for this
   * @param outcome the message's end; null for no message
   */
  private void ended(
      ChildThread child,
      @Nullable CallState waiting,
      ToolResult result,
      @Nullable String outcome,
      long at) {
    StepFrame frame = waiting == null ? null : loop.state().frameOf(waiting.key());
    if (waiting != null && frame != null) {
      loop.calls().returned(frame, waiting, result);
    } else if (outcome != null) {
      String text = "Subagent (reference: %s) has %s".formatted(child.threadId(), outcome);
      Message message =
          Message.of(child.side().other().role(), text)
              .asSilent()
              .placed("m-u" + (loop.state().received() + 1), at * 1000, 0, null);
      loop.emit(new ThreadEvent.Received(null, message, at, true));
    }
    loop.advance();
  }
}
