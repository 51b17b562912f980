package io.fermata.testkit.eval;

import io.fermata.agent.message.Message;
import io.fermata.agent.model.Usage;
import io.fermata.agent.replay.ThreadJournal;
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
   * @param spent what was used in it, without what its history had cost
   * @param broken why it could not be judged; null if it can
   */
  record Held(EvalRun run, JournaledEvents events, Usage spent, @Nullable String broken) {}

  /** A user talks with an agent until there is nothing more to say. */
  Held talk(String agent, EvalUser user, int turns) throws InterruptedException {
    Threads.NewThread wanted =
        new Threads.NewThread(PRINCIPAL, agent, null, Set.of(), Map.of(), List.of());
    Threads.View view = Waiting.await(host.threads().create(wanted));
    ThreadJournal history = journal(view).upTo(view.offset());
    String broken = null;
    for (int turn = 0; turn < turns && broken == null && !ended(view); turn++) {
      EvalRun soFar = held(view, history, null).run();
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
      broken = broken(view, history);
    }
    return held(view, history, broken);
  }

  /** A recorded user says again what is left to say. */
  Held repeat(RecordedThread.Fork fork) throws InterruptedException {
    ThreadJournal history = fork.before();
    Threads.NewFork how = Threads.NewFork.live().agent(history.state().agent());
    String threadId = Waiting.await(host.threads().fork(PRINCIPAL, history, how)).threadId();
    Threads.View view = settled(threadId);
    String broken = broken(view, history);
    for (Threads.NewMessage next : fork.next()) {
      if (broken == null && !ended(view)) {
        view = post(threadId, next);
        broken = broken(view, history);
      }
    }
    return held(view, history, broken);
  }

  private Threads.View post(String threadId, Threads.NewMessage message)
      throws InterruptedException {
    Waiting.await(host.threads().post(PRINCIPAL, threadId, message));
    return settled(threadId);
  }

  private Threads.View settled(String threadId) throws InterruptedException {
    return Waiting.await(host.threads().settled(PRINCIPAL, threadId, timeout), timeout);
  }

  private boolean ended(Threads.View view) {
    return answers.divergence() != null
        || (flow != null && flow.completed())
        || StopCode.failed(String.valueOf(view.code()));
  }

  /** What a recorded person has left undecided stays so. */
  private @Nullable String broken(Threads.View view, ThreadJournal history) {
    if (view.status() == Threads.Status.WORKING) {
      return "the agent was still working after " + timeout;
    } else if (view.status() == Threads.Status.ASKING && history.state().open().isEmpty()) {
      return "the agent waits for the decision of a person";
    } else if (!view.waits().isEmpty() && history.state().paused().isEmpty()) {
      Threads.Wait wait = view.waits().get(0);
      return "the call of %s waits %s".formatted(wait.tool(), wait.waitsFor());
    }
    return StopCode.STEP_ERROR.equals(view.code())
        ? "no model replied: " + view.progress().detail()
        : null;
  }

  /** What has happened since the history, with which the journal of the thread begins. */
  private Held held(Threads.View view, ThreadJournal history, @Nullable String broken)
      throws InterruptedException {
    ThreadJournal all = journal(view);
    JournaledEvents own = new JournaledEvents(since(history.events(), all.events()));
    ThreadState state = all.state();
    EvalRun run =
        new EvalRun(
            since(history.messages(), all.messages()),
            own.calls(),
            state,
            flow == null ? List.of() : flow.runs());
    return new Held(run, own, state.usage().minus(history.state().usage()), broken);
  }

  private static <T> List<T> since(List<T> history, List<T> all) {
    return all.subList(history.size(), all.size());
  }

  private ThreadJournal journal(Threads.View view) throws InterruptedException {
    return Waiting.await(host.journals().thread(view.threadId()).readWithSecrets());
  }
}
