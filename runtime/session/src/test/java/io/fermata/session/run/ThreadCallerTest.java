package io.fermata.session.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.Agents;
import io.fermata.agent.FlowState;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.engine.ThreadProgram;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.Policy;
import io.fermata.flow.event.StepEffect;
import io.fermata.session.actor.SessionHost;
import io.fermata.session.call.ToolUse;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** A step that reads the thread that called its flow. */
class ThreadCallerTest {
  private static final StepEffect BOOK =
      new StepEffect(
          "r1", new Place("book", 1), StepEffect.Kind.ACT, null, 1, null, Policy.DEFAULT);

  private static final Outside NOWHERE =
      (Outside)
          Proxy.newProxyInstance(
              Outside.class.getClassLoader(),
              new Class<?>[] {Outside.class},
              (proxy, method, arguments) -> {
                throw new UnsupportedOperationException(method.getName());
              });

  private final List<String> asked = new ArrayList<>();
  private final ThreadCaller caller =
      new ThreadCaller(
          new SessionHost.Threading(
              new ThreadProgram(new Agents(List.of())),
              (thread, cancelled) -> NOWHERE,
              this::state,
              (thread, call) -> {}),
          new ToolUse("book", "t1", "c1"),
          BOOK,
          List.of());

  /** The state of a thread that does not exist any more. */
  private CompletionStage<ThreadState> state(String thread) {
    assertThat(Thread.holdsLock(caller)).as("while it asks").isFalse();
    asked.add(thread);
    CompletableFuture<ThreadState> replied =
        new CompletableFuture<>() {
          @Override
          public ThreadState get() throws InterruptedException, ExecutionException {
            assertThat(Thread.holdsLock(caller)).as("while it waits").isFalse();
            return super.get();
          }
        };
    replied.complete(ThreadState.NONE);
    return replied;
  }

  @Test
  void aStepWaitsForTheStateOfItsCallingThreadWithoutHoldingALock() {
    assertThat(caller.as(FlowState.class)).isEmpty();
    assertThat(caller.as(FlowState.class)).isEmpty();
    assertThat(asked).containsExactly("t1");
    assertThat(caller.changes()).isEmpty();
  }
}
