package io.fermata.session.host;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowState;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.engine.ThreadAccess;
import io.fermata.agent.history.HistoryReader;
import io.fermata.agent.history.LatestCall;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.ThreadStorage;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.json.Json;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.Erased;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.call.ToolOutcome;
import io.fermata.session.call.ToolUse;
import io.fermata.session.journal.CallLog;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.runs.SessionDirectory;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The world of one effect of a thread. Once it is cancelled, it begins no tool, flow or child. */
public final class HostOutside implements Outside {
  /**
   * What the threads of a host share.
   *
   * @param flows calls flows as tools
   */
  public record Services(
      AgentThreads threads,
      SessionSubscriptions subscriptions,
      ToolUses flows,
      RunExplanations explanations,
      OpenStore store,
      Eraser eraser,
      SessionDirectory directory,
      InstantSource clock,
      Function<String, @Nullable String> env,
      HostThreads pools) {}

  /** The run is as it was, and continues when its key or a release that has it is there. */
  private static final Set<String> STAYS =
      Set.of(
          ErrorCode.VERSION_CHANGED.wireName(),
          ErrorCode.MIGRATION_FAILED.wireName(),
          HostError.KEY_MISSING.wireName(),
          HostError.JOURNAL_UNREADABLE.wireName());

  /** How often the ancestors are asked for what is left of their budgets: for 25 seconds. */
  private static final int CLIMBS = 8;

  /** How often a child that is being erased is looked at: for 2.5 seconds. */
  private static final int LOOKS = 8;

  private final Services services;
  private final String threadId;
  private final ThreadKey key;
  private final BooleanSupplier cancelled;

  /**
   * @param cancelled whether the thread no longer wants what the effect does
   */
  public HostOutside(Services services, String threadId, BooleanSupplier cancelled) {
    this.services = services;
    this.threadId = threadId;
    this.cancelled = cancelled;
    this.key = ThreadKey.require(threadId);
  }

  @Override
  public long now() {
    return services.clock().millis();
  }

  @Override
  public void publish(MessageDelta delta) {
    services.subscriptions().streamed(key.entityId(), delta);
  }

  @Override
  public @Nullable String env(String property) {
    return services.env().apply(property);
  }

  /** Hooks that ran before may have swallowed the interruption. */
  private void requireWanted() {
    if (cancelled.getAsBoolean()) {
      throw new CancellationException("The work was cancelled");
    }
  }

  @Override
  public @Nullable Object run(Tool tool, FlowState flow, ObjectNode arguments) throws Exception {
    requireWanted();
    return Outside.super.run(tool, flow, arguments);
  }

  // --- flows -----------------------------------------------------------------------------------

  @Override
  public CompletionStage<FlowOutcome> callFlow(
      String flow, String callKey, ObjectNode arguments, FlowAttempt attempt) {
    ToolUse use = use(flow, callKey);
    ToolUses flows = services.flows();
    return outcome(
        switch (attempt) {
          case FIRST -> start(use, arguments);
          case REPEATED -> flows.repeat(use, () -> start(use, arguments));
          case LOOK -> flows.look(use);
        });
  }

  private CompletionStage<ToolOutcome> start(ToolUse use, ObjectNode arguments) {
    requireWanted();
    return services.flows().start(use, arguments, progress -> {});
  }

  @Override
  public CompletionStage<FlowOutcome> answerFlow(
      String flow, String callKey, String answerId, ObjectNode answers) {
    requireWanted();
    ToolUse use = use(flow, callKey);
    return outcome(
        services
            .flows()
            .answer(use, answerId, answers)
            // Its question may no longer be open, for example as its deadline has passed.
            .thenCompose(
                reply ->
                    reply instanceof ToolOutcome.Refused
                        ? services.flows().look(use)
                        : present(use, reply)));
  }

  /**
   * A repeated answer gets the reply that it got before, but the run may have continued since.
   * Where it asks the same, the reply stands, as it says what was wrong with an answer.
   */
  private CompletionStage<ToolOutcome> present(ToolUse use, ToolOutcome reply) {
    return reply instanceof ToolOutcome.Waiting || reply instanceof ToolOutcome.Paused
        ? services.flows().look(use).thenApply(now -> asksTheSame(reply, now) ? reply : now)
        : CompletableFuture.completedStage(reply);
  }

  private static boolean asksTheSame(ToolOutcome reply, ToolOutcome now) {
    return reply instanceof ToolOutcome.Paused asked
        && now instanceof ToolOutcome.Paused asks
        && CallState.words(asks.question()).equals(CallState.words(asked.question()))
        && Json.same(asked(asks.question()), asked(asked.question()));
  }

  /**
   * What a reply asks, besides the words. The field of a failure may be the one that was refused,
   * unless a question stands beside it; that of a widget is in the words.
   */
  private static ObjectNode asked(ObjectNode body) {
    ObjectNode asked = body.deepCopy().retain("tool", "data");
    ArrayNode questions = asked.putArray("questions");
    (body.has("question") ? Stream.of(body) : body.path("questions").valueStream())
        .map(JsonNode::<ObjectNode>deepCopy)
        .map(each -> each.retain("field", "fieldSchema", "suggestions", "optional"))
        .forEach(questions::add);
    return asked;
  }

  /** Where a host lacks the flow, only the journal of its run shows that the call was one of it. */
  private CompletionStage<Optional<String>> withdrawn(ToolUse use) {
    return services.flows().has(use.tool())
        ? services.flows().withdraw(use).thenApply(HostOutside::concluded)
        : services
            .eraser()
            .exists(ToolUses.keyOf(use).entityId())
            .thenApply(
                runs ->
                    runs ? Optional.of("The host lacks the flow " + use.tool()) : Optional.empty());
  }

  /** Only what ends without another attempt is a conclusion. */
  private static Optional<String> concluded(ToolOutcome outcome) {
    if (outcome instanceof ToolOutcome.Refused refused && STAYS.contains(refused.code())) {
      return Optional.of(notEnded(refused.code() + ": " + refused.message()));
    } else if (outcome instanceof ToolOutcome.Waiting waiting) {
      throw new IllegalStateException(notEnded("it waits for " + waiting.waitsFor()));
    } else if (outcome instanceof ToolOutcome.Unfinished unfinished) {
      throw new IllegalStateException(notEnded(unfinished.code() + ": " + unfinished.message()));
    } else if (outcome instanceof ToolOutcome.Paused) {
      throw new IllegalStateException(notEnded("it asks"));
    }
    return Optional.empty();
  }

  @Override
  public CompletionStage<String> explainFlow(String flow, String about, @Nullable String field) {
    return services
        .threads()
        .journals()
        .rewound(key.entityId(), new LatestCall(flow))
        .thenCompose(
            latest ->
                latest
                    .key()
                    .map(call -> services.explanations().explain(use(flow, call), about, field))
                    .orElseGet(
                        () ->
                            CompletableFuture.completedFuture(
                                "This conversation has not called " + flow + " yet.")));
  }

  private static String notEnded(String why) {
    return "The run has not ended yet, " + why;
  }

  private ToolUse use(String flow, String callKey) {
    return new ToolUse(flow, threadId, callKey);
  }

  private CompletionStage<FlowOutcome> outcome(CompletionStage<ToolOutcome> called) {
    return called.thenApplyAsync(
        outcome -> {
          if (outcome instanceof ToolOutcome.Result result) {
            return new FlowOutcome.Result(
                result.text(),
                result.error(),
                result.changes().stream().map(ThreadAccess::change).toList());
          } else if (outcome instanceof ToolOutcome.Paused paused) {
            return new FlowOutcome.Asking(paused.question());
          } else if (outcome instanceof ToolOutcome.Unfinished unfinished) {
            return new FlowOutcome.Unfinished(ToolUses.works(unfinished));
          } else if (outcome instanceof ToolOutcome.Waiting waiting) {
            return waiting(waiting);
          } else if (outcome instanceof ToolOutcome.Refused refused) {
            return STAYS.contains(refused.code())
                ? new FlowOutcome.Waiting(
                    "for a host that can continue its run (" + refused.code() + ")", null)
                : new FlowOutcome.Result(refused.message(), true, List.of());
          }
          ToolOutcome.Undecided undecided = (ToolOutcome.Undecided) outcome;
          return new FlowOutcome.Result(
              undecided.code() + ": " + undecided.message(), true, List.of());
        },
        services.pools().handlers());
  }

  /** In words for a model, which can do nothing about it. */
  private static FlowOutcome waiting(ToolOutcome.Waiting waiting) {
    boolean moment = waiting.waitsFor().equals(OutcomeJson.TIME);
    String until = waiting.until() == null ? "" : "until " + waiting.until();
    String what = moment ? until : ("for " + waiting.waitsFor() + " " + until).strip();
    Long at = waiting.until() == null ? null : Instant.parse(waiting.until()).toEpochMilli();
    return new FlowOutcome.Waiting(what, at);
  }

  // --- other threads ---------------------------------------------------------------------------

  @Override
  public boolean allHave(String agent) {
    return services.threads().allHave(agent);
  }

  @Override
  public CompletionStage<String> delegate(
      SubAgent relation,
      String principal,
      ThreadEvent.Parent parent,
      @Nullable String child,
      String message) {
    requireWanted();
    Threads.NewMessage posted =
        new Threads.NewMessage(Message.user(message), List.of(), parent.messageKey());
    if (child != null) {
      ThreadKey existing = ThreadKey.require(child);
      return services.threads().post(existing, null, posted).thenApply(reply -> child);
    }
    ThreadKey born = born(relation.agent(), parent.call());
    return services
        .threads()
        .create(
            born,
            new Threads.NewThread(principal, relation.agent(), null, Set.of(), Map.of(), List.of()),
            parent)
        .thenCompose(created -> services.threads().post(born, null, posted))
        .thenApply(reply -> born.threadId());
  }

  private ThreadKey born(String agent, String callKey) {
    return ThreadKey.child(key, agent, callKey, services.store().serverKey());
  }

  @Override
  public CompletionStage<Optional<String>> withdraw(ThreadEvent.CallAbandoned left) {
    CompletionStage<Void> done = CompletableFuture.completedFuture(null);
    if (left.flow() != null) {
      return withdrawn(use(left.flow(), left.call()));
    } else if (left.child() != null) {
      // A stop that is sent again must not end what the child was given to do since.
      String once = CallLog.unrepliedId("withdraw " + threadId + " " + left.call());
      done = tell(left.child(), once, new ThreadInput.Stop(now()));
    } else if (left.unborn() != null) {
      done = tell(born(left.unborn(), left.call()).threadId(), new ThreadInput.Delete(now()));
    }
    return done.thenApply(nothing -> Optional.empty());
  }

  /** Budgets are checked before every call of a model, so a busy ancestor is asked again. */
  @Override
  public CompletionStage<Optional<String>> spent(ThreadEvent.Parent parent, Usage total) {
    return spent(parent, total, 1);
  }

  private CompletionStage<Optional<String>> spent(
      ThreadEvent.Parent parent, Usage total, int attempt) {
    return climb(threadId, parent, total)
        .exceptionallyCompose(
            thrown -> {
              if (AgentThreads.isMissing(thrown)) {
                return CompletableFuture.completedFuture(Optional.empty());
              } else if (attempt == CLIMBS) {
                return CompletableFuture.failedFuture(RootCauses.of(thrown));
              }
              return after(100L << attempt, () -> spent(parent, total, attempt + 1));
            });
  }

  private <T> CompletionStage<T> after(long millis, Supplier<CompletionStage<T>> work) {
    Executor later =
        CompletableFuture.delayedExecutor(
            millis, TimeUnit.MILLISECONDS, services.pools().replies());
    return CompletableFuture.supplyAsync(work, later).thenCompose(begun -> begun);
  }

  /** Each ancestor counts what its child has spent; the first with a spent budget decides. */
  private CompletionStage<Optional<String>> climb(
      String child, ThreadEvent.Parent parent, Usage total) {
    ThreadKey to = ThreadKey.require(parent.threadId());
    return services
        .threads()
        .send(to, null, new ThreadInput.ChildSpent(child, total, now()))
        .thenCompose(
            reply -> {
              ThreadState state = reply.state();
              Agent overspent = services.threads().known().overspent(state);
              String spent = overspent == null ? null : spent(overspent, state.usage());
              ThreadEvent.Parent next = state.begun().parent();
              return spent != null || next == null
                  ? CompletableFuture.completedFuture(Optional.ofNullable(spent))
                  : climb(state.threadId(), next, state.usage());
            });
  }

  private static String spent(Agent agent, Usage usage) {
    return "The budget of the agent %s, which put this thread to work, is spent: %s"
        .formatted(agent.name(), usage.words());
  }

  @Override
  public CompletionStage<Void> reportDeleted(ThreadEvent.Parent parent, Usage spent) {
    return tell(parent.threadId(), new ThreadInput.ChildDeleted(threadId, spent, now()));
  }

  @Override
  public CompletionStage<Void> report(
      ThreadEvent.Parent parent, ThreadEvent.ReportPending pending, boolean working, Usage spent) {
    ChildThread.Status status = pending.status();
    if (status == null) {
      return tell(
          parent.threadId(),
          new ThreadInput.Report(
              threadId,
              pending.report(),
              pending.failed(),
              pending.text(),
              working,
              pending.call(),
              spent,
              now()));
    }
    return services
        .threads()
        .send(
            ThreadKey.require(parent.threadId()),
            null,
            new ThreadInput.ChildStatusChanged(threadId, pending.report(), status, now()))
        .thenAccept(reply -> {});
  }

  // --- stored data ----------------------------------------------------------------------------

  @Override
  public CompletionStage<List<Message>> history(@Nullable String before, int limit, int depth) {
    return services
        .threads()
        .journals()
        .rewound(key.entityId(), new HistoryReader(before, limit, depth))
        .thenApply(HistoryReader::messages);
  }

  @Override
  public CompletionStage<byte[]> file(ThreadStorage.StoredFile file) {
    return services.threads().journals().bytes(key.entityId(), file);
  }

  /** Children end first: what is left of them cannot be withdrawn once their runs are erased. */
  @Override
  public CompletionStage<Void> erase(List<String> children, List<ThreadEvent.CallAbandoned> left) {
    Set<String> created = created(children, left);
    CompletionStage<Void> done = CompletableFuture.completedFuture(null);
    for (String child : created) {
      done = done.thenCompose(nothing -> tell(child, new ThreadInput.Delete(now())));
    }
    for (String child : created) {
      done = done.thenCompose(nothing -> childErased(ThreadKey.require(child), 1));
    }
    // Its own journal is erased last, so that a repeated attempt finds the rest.
    return done.thenCompose(nothing -> familyDeleted(left))
        .thenCompose(deleted -> services.directory().forget(key.entityId()::equals))
        .thenCompose(unlisted -> services.store().delete(List.of(key.entityId())))
        .thenCompose(forgotten -> services.store().scrub())
        .thenAccept(scrubbed -> {});
  }

  private Set<String> created(List<String> children, List<ThreadEvent.CallAbandoned> left) {
    Set<String> created = new LinkedHashSet<>(children);
    for (ThreadEvent.CallAbandoned call : left) {
      if (call.unborn() != null) {
        created.add(born(call.unborn(), call.call()).threadId());
      }
    }
    return created;
  }

  /** Waits until a deleted child has withdrawn its work and erased its journal. */
  private CompletionStage<Void> childErased(ThreadKey child, int look) {
    return services
        .eraser()
        .exists(child.entityId())
        .thenCompose(
            there -> {
              if (!there) {
                return CompletableFuture.completedFuture(null);
              } else if (look == LOOKS) {
                return CompletableFuture.failedFuture(
                    new IllegalStateException(
                        "The thread %s, which it created, is still being deleted"
                            .formatted(child.threadId())));
              }
              return after(10L << look, () -> childErased(child, look + 1));
            });
  }

  /** In a store that cannot be searched, only the runs of open calls are known, by their names. */
  private CompletionStage<Erased> familyDeleted(List<ThreadEvent.CallAbandoned> left) {
    return services
        .eraser()
        .delete(SessionScope.ofFamily(key))
        .exceptionallyCompose(
            thrown ->
                RootCauses.find(thrown, NoHistoryException.class) != null
                    ? services.eraser().delete(new SessionScope(runs(left), Set.of()))
                    : CompletableFuture.failedFuture(thrown));
  }

  private Set<String> runs(List<ThreadEvent.CallAbandoned> left) {
    Set<String> runs = new HashSet<>();
    for (ThreadEvent.CallAbandoned call : left) {
      if (call.flow() != null) {
        runs.add(ToolUses.keyOf(use(call.flow(), call.call())).entityId());
      }
    }
    return runs;
  }

  private CompletionStage<Void> tell(String thread, ThreadInput input) {
    return tell(thread, null, input);
  }

  private CompletionStage<Void> tell(String thread, @Nullable String callId, ThreadInput input) {
    return services.threads().sendIfThere(ThreadKey.require(thread), callId, input);
  }
}
