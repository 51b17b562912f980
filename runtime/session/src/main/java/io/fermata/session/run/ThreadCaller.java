package io.fermata.session.run;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.FlowState;
import io.fermata.agent.engine.ThreadAccess;
import io.fermata.flow.action.Caller;
import io.fermata.flow.event.StepEffect;
import io.fermata.session.actor.SessionHost;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.call.ToolUse;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** The thread that a run works for, asked for how it stands when a step wants to know it. */
final class ThreadCaller implements Caller {
  private final SessionHost.Threading agents;
  private final ToolUse use;
  private final StepEffect effect;
  private final List<JsonNode> before;
  private boolean asked;
  private @Nullable ThreadAccess loan;

  /**
   * @param before what earlier steps of the run did to the thread
   */
  ThreadCaller(
      SessionHost.Threading agents, ToolUse use, StepEffect effect, List<JsonNode> before) {
    this.agents = agents;
    this.use = use;
    this.effect = effect;
    this.before = before;
  }

  @Override
  public synchronized <T> Optional<T> as(Class<T> type) {
    if (type != FlowState.class) {
      return Optional.empty();
    }
    if (!asked) {
      loan = lent().orElse(null);
      asked = true;
    }
    return Optional.ofNullable(loan).map(lent -> type.cast(lent.flow()));
  }

  private Optional<ThreadAccess> lent() {
    try {
      return ThreadAccess.of(
          agents.agents(),
          agents.state().apply(use.caller()).toCompletableFuture().get(),
          agents.outside().apply(use.caller()),
          use.callId(),
          effect.place().toString(),
          effect.attempt(),
          before);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("The work was given up", e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof ThreadException known && known.code().equals("unknown_thread")) {
        return Optional.empty();
      }
      throw new IllegalStateException(
          "The thread that called cannot be asked for its state; the step can be tried again",
          e.getCause());
    }
  }

  @Override
  public synchronized List<JsonNode> changes() {
    return loan == null ? List.of() : loan.changes();
  }
}
