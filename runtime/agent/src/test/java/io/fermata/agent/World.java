package io.fermata.agent;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.model.chat.request.ChatRequest;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.model.Model;
import io.fermata.agent.model.ModelException;
import io.fermata.agent.model.ModelListener;
import io.fermata.agent.model.ModelReply;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadStorage;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A host that remembers what a thread asked of it and answers as a test wants. */
public final class World implements Outside {
  /** A variable of the host, which no journal has. */
  static final String VARIABLE = "house";

  private final Conversation conversation;
  private final Map<String, FlowOutcome> begun = new HashMap<>();
  private final Map<String, FlowOutcome> answered = new HashMap<>();
  private final Map<String, String> children = new HashMap<>();

  public final Map<String, String> env = new HashMap<>();
  final List<MessageDelta> deltas = new ArrayList<>();
  public final List<String> flowCalls = new ArrayList<>();
  public final List<FlowAttempt> flowAttempts = new ArrayList<>();
  public final List<String> withdrawn = new ArrayList<>();
  public final List<String> delegated = new ArrayList<>();
  public final List<String> reports = new ArrayList<>();
  public final List<String> stoppedChildren = new ArrayList<>();
  public final List<String> discarded = new ArrayList<>();
  final List<String> erased = new ArrayList<>();
  final List<String> filesRead = new ArrayList<>();

  /** What the thread said that it had spent. */
  public final List<Usage> spent = new ArrayList<>();

  /** Which budget of an ancestor is spent. */
  public @Nullable String overspent;

  /** The agents that other hosts of a cluster lack. */
  public final Set<String> early = new HashSet<>();

  /** Why withdrawn work stays as it is until another release is there. */
  public @Nullable String stays;

  /** What a flow comes to when it is called. */
  public Function<ObjectNode, FlowOutcome> flow = arguments -> result("done");

  /** What a flow comes to when it is answered. */
  public Function<ObjectNode, FlowOutcome> flowAnswer = answers -> result("done");

  /** What the model or flow that was asked last returned or threw; null if none was asked. */
  @Nullable Object received;

  /** What models and flows return from now on instead. */
  private Conversation.@Nullable Cause again;

  World(Conversation conversation) {
    this.conversation = conversation;
    env.put(VARIABLE, "You are at the bookshop.");
  }

  /** Models and flows return once more what they returned before a record was written. */
  public World again(Conversation.Cause cause) {
    again = cause;
    return this;
  }

  public static FlowOutcome result(String text) {
    return new FlowOutcome.Result(text, false, List.of());
  }

  @Override
  public long now() {
    return conversation.now();
  }

  @Override
  public ModelReply ask(Model model, ChatRequest request, ModelListener listener)
      throws InterruptedException {
    if (again != null) {
      if (again.received() instanceof ModelReply reply) {
        return reply;
      }
      throw again.received() instanceof ModelException e ? e : new IllegalStateException("silent");
    }
    try {
      ModelReply reply = Outside.super.ask(model, request, listener);
      received = reply;
      return reply;
    } catch (ModelException e) {
      received = e;
      throw e;
    }
  }

  @Override
  public void publish(MessageDelta tiding) {
    deltas.add(tiding);
  }

  @Override
  public @Nullable String env(String property) {
    return env.get(property);
  }

  @Override
  public CompletionStage<FlowOutcome> callFlow(
      String name, String callKey, ObjectNode arguments, FlowAttempt attempt) {
    if (again != null) {
      return CompletableFuture.completedFuture((FlowOutcome) again.received());
    }
    flowCalls.add(name + " " + callKey + " " + arguments);
    flowAttempts.add(attempt);
    FlowOutcome known = begun.get(callKey);
    if (known == null
        || known instanceof FlowOutcome.Unfinished
        || known instanceof FlowOutcome.Asking
        || known instanceof FlowOutcome.Waiting) {
      known = flow.apply(arguments);
      begun.put(callKey, known);
    }
    received = known;
    return CompletableFuture.completedFuture(known);
  }

  @Override
  public CompletionStage<FlowOutcome> answerFlow(
      String name, String callKey, String answerId, ObjectNode answers) {
    if (again != null) {
      return CompletableFuture.completedFuture((FlowOutcome) again.received());
    }
    flowCalls.add(name + " " + callKey + " " + answerId + " " + answers);
    String key = callKey + "/" + answerId;
    FlowOutcome known = answered.computeIfAbsent(key, k -> flowAnswer.apply(answers));
    begun.put(callKey, known);
    received = known;
    return CompletableFuture.completedFuture(known);
  }

  @Override
  public CompletionStage<Optional<String>> withdraw(ThreadEvent.CallAbandoned left) {
    if (left.flow() != null) {
      withdrawn.add(left.flow() + " " + left.call());
    } else if (left.child() != null) {
      stoppedChildren.add(left.child());
    } else if (left.unborn() != null) {
      discarded.add(left.unborn() + " " + left.call());
    }
    return CompletableFuture.completedFuture(Optional.ofNullable(stays));
  }

  @Override
  public boolean allHave(String agent) {
    return !early.contains(agent);
  }

  @Override
  public CompletionStage<String> delegate(
      SubAgent relation,
      String principal,
      ThreadEvent.Parent parent,
      @Nullable String child,
      String message) {
    String threadId =
        children.computeIfAbsent(
            parent.call(),
            key -> {
              String id = child == null ? "child-" + key : child;
              delegated.add(id + ": " + message);
              return id;
            });
    return CompletableFuture.completedFuture(threadId);
  }

  @Override
  public CompletionStage<Optional<String>> spent(ThreadEvent.Parent parent, Usage total) {
    spent.add(total);
    return CompletableFuture.completedFuture(Optional.ofNullable(overspent));
  }

  @Override
  public CompletionStage<Void> report(
      ThreadEvent.Parent parent, ThreadEvent.ReportPending pending, boolean working, Usage usage) {
    if (pending.status() == null) {
      String how = (working ? " and works on" : "") + (pending.failed() ? " failed: " : ": ");
      reports.add(pending.report() + how + pending.text());
      spent.add(usage);
    } else {
      reports.add(pending.report() + " " + pending.status());
    }
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletionStage<Void> reportDeleted(ThreadEvent.Parent parent, Usage usage) {
    reports.add("gone");
    spent.add(usage);
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletionStage<List<Message>> history(@Nullable String before, int limit, int depth) {
    return CompletableFuture.completedFuture(conversation.newestFirst(before, limit, depth));
  }

  @Override
  public CompletionStage<byte[]> file(ThreadStorage.StoredFile file) {
    filesRead.add(file.path());
    return file.seq() > 0
            && conversation.record((int) file.seq()).get(file.index())
                instanceof ThreadEvent.FileWritten written
        ? CompletableFuture.completedFuture(written.data())
        : CompletableFuture.failedFuture(new IllegalStateException("No bytes of " + file.path()));
  }

  @Override
  public CompletionStage<Void> erase(List<String> childIds, List<ThreadEvent.CallAbandoned> left) {
    erased.addAll(childIds);
    return CompletableFuture.completedFuture(null);
  }
}
