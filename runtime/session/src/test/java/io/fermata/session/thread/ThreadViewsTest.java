package io.fermata.session.thread;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.session.admin.Threads;
import io.fermata.session.journal.ThreadReply;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The view of a thread, which is the same on each host of a cluster. */
class ThreadViewsTest {
  private static final ThreadEvent.Created CREATED =
      new ThreadEvent.Created("t1", "desk", "ann", Set.of("vip"), Map.of("k", "v"), null, 10, 1);

  private static ThreadReply reply(ThreadEvent... events) {
    List<ThreadEvent> all = new ArrayList<>(List.of(CREATED));
    all.addAll(List.of(events));
    ThreadState state = ThreadState.NONE.apply(all, 1);
    return new ThreadReply(state, Threads.Status.RESTING, List.of(), 1, false, null);
  }

  /** As a host shows it whose thread it is, and as another one does. */
  private static Threads.View view(ThreadReply reply) {
    Threads.View view = ThreadViews.view(reply);
    assertThat(ThreadViews.view(reply.outline())).isEqualTo(view);
    return view;
  }

  private static ThreadEvent received(String id) {
    return new ThreadEvent.Received("k-" + id, Message.user("Hello").placed(id, 1_000, 0, null), 1);
  }

  @Test
  void theMessagesThatWaitAreNamedOnEachHost() {
    ThreadReply reply = reply(received("m-u1"), received("m-u2"));

    assertThat(view(reply).inbox()).containsExactly("m-u1", "m-u2");
    assertThat(reply.outline().state().inbox()).extracting(Message::content).containsOnly("");
  }

  @Test
  void whatACallWaitsForInAChildIsShownOnEachHost() {
    ChildThread child =
        new ChildThread("t9", "helper", "aide", ChildThread.Status.WAITING, "", Usage.ZERO, Side.A);
    RequestedCall call = RequestedCall.of("c1", "helper", "{}");
    Message message = Message.assistant("Let me see.").placed("m-s1", 2_000, 0, null);

    ThreadReply reply =
        reply(
            new ThreadEvent.StepBegan(StepFrame.TOP, Side.A, "desk", 1, 1, "m-s1", 1),
            new ThreadEvent.StepEnded(
                StepFrame.TOP,
                message.withToolCalls(List.of(call)),
                List.of(call),
                new ThreadEvent.StepLog(
                    "s1", "m", "stop", Usage.ZERO, List.of(), 1, 2, null, null)),
            new ThreadEvent.ChildCreated(child),
            new ThreadEvent.CallDelegated("s1.0", "t9"));

    assertThat(view(reply).waits())
        .containsExactly(new Threads.Wait("s1.0", "helper", "in the thread t9"));
  }
}
