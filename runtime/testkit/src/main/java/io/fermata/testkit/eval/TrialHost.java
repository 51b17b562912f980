package io.fermata.testkit.eval;

import io.fermata.agent.message.Message;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadState;
import io.fermata.session.Fermata;
import io.fermata.session.admin.Threads;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One conversation on a host of its own. */
final class TrialHost {
  static final String PRINCIPAL = "evaluation";

  private final Fermata host;
  private final @Nullable FlowTools flow;
  private final ToolAnswers answers;
  private final Duration timeout;

  TrialHost(Fermata host, @Nullable FlowTools flow, ToolAnswers answers, Duration timeout) {
    this.host = host;
    this.flow = flow;
    this.answers = answers;
    this.timeout = timeout;
  }

  /**
   * A conversation that has ended.
   *
   * @param broken why it could not be judged; null if it can
   */
  record Held(EvalRun run, JournaledEvents events, @Nullable String broken) {}

  /** A user talks with an agent until there is nothing more to say. */
  Held talk(String agent, EvalUser user, int turns) throws InterruptedException {
    Threads.NewThread wanted =
        new Threads.NewThread(PRINCIPAL, agent, null, Set.of(), Map.of(), List.of());
    Threads.View view = Waiting.await(host.threads().create(wanted));
    long begun = view.offset();
    String broken = null;
    for (int turn = 0; turn < turns && broken == null && !ended(view); turn++) {
      EvalRun soFar = run(view, begun).run();
      String next;
      try {
        next = user.next(soFar);
      } catch (RuntimeException | AssertionError e) {
        broken = "the user failed: " + e;
        break;
      }
      if (next == null) {
        break;
      }
      view = post(view.threadId(), new Threads.NewMessage(Message.user(next), List.of(), null));
      broken = broken(view);
    }
    return held(view, begun, broken);
  }

  /** A recorded user says again what is left to say. */
  Held repeat(RecordedThread.Fork fork) throws InterruptedException {
    Threads.View view = Waiting.await(host.threads().create(fork.thread(PRINCIPAL)));
    long begun = view.offset();
    String broken = null;
    for (Threads.NewMessage next : fork.next()) {
      if (broken == null && !ended(view)) {
        view = post(view.threadId(), next);
        broken = broken(view);
      }
    }
    return held(view, begun, broken);
  }

  private Threads.View post(String threadId, Threads.NewMessage message)
      throws InterruptedException {
    Waiting.await(host.threads().post(PRINCIPAL, threadId, message));
    return Waiting.await(host.threads().settled(PRINCIPAL, threadId, timeout), timeout);
  }

  private boolean ended(Threads.View view) {
    return answers.divergence() != null
        || (flow != null && flow.completed())
        || StopCode.failed(String.valueOf(view.code()));
  }

  private @Nullable String broken(Threads.View view) {
    if (view.status() == Threads.Status.WORKING) {
      return "the agent was still working after " + timeout;
    } else if (view.status() == Threads.Status.ASKING) {
      return "the agent waits for the decision of a person";
    }
    return StopCode.STEP_ERROR.equals(view.code())
        ? "no model replied: " + view.progress().detail()
        : null;
  }

  private Held held(Threads.View view, long begun, @Nullable String broken)
      throws InterruptedException {
    Held held = run(view, begun);
    return new Held(held.run(), held.events(), broken);
  }

  /** What has happened since the entry that created the thread. */
  private Held run(Threads.View view, long begun) throws InterruptedException {
    JournaledEvents all =
        JournaledEvents.of(Waiting.await(host.threadJournalWithSecrets(view.threadId())));
    JournaledEvents own =
        new JournaledEvents(all.all().stream().filter(each -> each.offset() > begun).toList());
    ThreadState state = all.state();
    long history =
        new JournaledEvents(all.all().stream().filter(each -> each.offset() <= begun).toList())
            .state()
            .history()
            .messages()
            .size();
    List<Message> messages = state.history().messages().stream().skip(history).toList();
    EvalRun run = new EvalRun(messages, own.calls(), state, flow == null ? List.of() : flow.runs());
    return new Held(run, own, null);
  }
}
