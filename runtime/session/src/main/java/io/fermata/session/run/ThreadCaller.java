package io.fermata.session.run;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.FlowState;
import io.fermata.agent.engine.ThreadAccess;
import io.fermata.flow.action.Caller;
import io.fermata.flow.event.StepEffect;
import io.fermata.session.actor.SessionHost;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.call.ToolUse;
import io.fermata.session.key.HostError;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** The thread that called a run, whose state is read when a step needs it. */
final class ThreadCaller implements Caller {
  private final SessionHost.Threading agents;
  private final ToolUse use;
  private final StepEffect effect;
  private final List<JsonNode> before;
  private boolean asked;
  private @Nullable ThreadAccess access;

  /**
   * @param before the changes that earlier steps made to the thread
   */
  ThreadCaller(
      SessionHost.Threading agents, ToolUse use, StepEffect effect, List<JsonNode> before) {
    this.agents = agents;
    this.use = use;
    this.effect = effect;
    this.before = before;
  }

  @Override
  public <T> Optional<T> as(Class<T> type) {
    if (type != FlowState.class) {
      return Optional.empty();
    }
    if (!asked()) {
      // Waits without the lock, which would pin a virtual thread. If two ask, the first one counts.
      keep(granted().orElse(null));
    }
    return Optional.ofNullable(access()).map(granted -> type.cast(granted.flow()));
  }

  private synchronized boolean asked() {
    return asked;
  }

  private synchronized void keep(@Nullable ThreadAccess granted) {
    if (!asked) {
      access = granted;
      asked = true;
    }
  }

  private synchronized @Nullable ThreadAccess access() {
    return access;
  }

  private Optional<ThreadAccess> granted() {
    try {
      return ThreadAccess.of(
          agents.agents(),
          agents.state().apply(use.caller()).toCompletableFuture().get(),
          agents.outside().apply(use.caller(), () -> false),
          use.callId(),
          effect.place().toString(),
          effect.attempt(),
          before);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("The step was cancelled", e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof ThreadException known && known.is(HostError.UNKNOWN_THREAD)) {
        return Optional.empty();
      }
      throw new IllegalStateException(
          "The state of the calling thread could not be read; retry the step", e.getCause());
    }
  }

  @Override
  public List<JsonNode> changes() {
    ThreadAccess granted = access();
    return granted == null ? List.of() : granted.changes();
  }
}
