package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.model.chat.request.ChatRequest;
import io.fermata.agent.FlowState;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.history.HistoryReader;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.Model;
import io.fermata.agent.model.ModelListener;
import io.fermata.agent.model.ModelReply;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.EarlierEntries;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadStorage;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The host as a journal has it, for one effect of a thread that is decided again: models, tools,
 * flows and children return what they returned, and nothing is performed.
 */
final class RecordedOutside implements Outside {
  /**
   * What the journal has of the effect.
   *
   * @param overspent which budget of an ancestor was spent; null for none
   * @param work the changes that the work of a call made
   * @param returned what the work of a call returned
   * @param flow the outcome of a flow that has not ended
   * @param child the child that a call was delegated to
   */
  record Given(
      @Nullable String overspent,
      @Nullable ModelReply reply,
      List<ThreadEvent.Change> work,
      @Nullable ToolResult returned,
      @Nullable FlowOutcome flow,
      @Nullable String child) {
    static final Given NOTHING = new Given(null, null, List.of(), null, null, null);

    static Given overspent(String reason) {
      return new Given(reason, null, List.of(), null, null, null);
    }

    static Given reply(ModelReply reply) {
      return new Given(null, reply, List.of(), null, null, null);
    }

    static Given flow(FlowOutcome outcome) {
      return new Given(null, null, List.of(), null, outcome, null);
    }

    static Given child(String threadId) {
      return new Given(null, null, List.of(), null, null, threadId);
    }
  }

  /** The present code asks for what the journal does not have. */
  static final class NotRecordedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NotRecordedException(String what) {
      super(what);
    }
  }

  private static final int PAGE = 50;

  private final Given given;
  private final long at;
  private final EarlierEntries earlier;
  private final long seq;
  private @Nullable String missing;
  private @Nullable RuntimeException unread;
  private boolean invoked;

  /**
   * @param seq the entry that is decided; code sees only the entries before it
   */
  RecordedOutside(Given given, long at, EarlierEntries earlier, long seq) {
    this.given = given;
    this.at = at;
    this.earlier = earlier;
    this.seq = seq;
  }

  /** Fails if earlier entries could not be read, which is no decision of the code. */
  void requireRead() {
    if (unread != null) {
      throw unread;
    }
  }

  /** What the present code asked for that the journal does not have; null for nothing. */
  @Nullable String missing() {
    return missing;
  }

  /** Whether a hook invoked a tool, whose results are not journaled. */
  boolean invoked() {
    return invoked;
  }

  private NotRecordedException missing(String what) {
    missing = missing == null ? what : missing;
    return new NotRecordedException(what);
  }

  @Override
  public ModelReply ask(Model model, ChatRequest request, ModelListener listener) {
    if (given.reply() == null) {
      throw missing("the model " + model.name() + " is asked");
    }
    return given.reply();
  }

  @Override
  public @Nullable Object run(Tool tool, FlowState flow, ObjectNode arguments) {
    if (given.returned() == null) {
      throw missing("the tool " + tool.name() + " is called");
    }
    ChangeRecorder recorder = ((RecordingFlowState) flow).recorder();
    given.work().forEach(recorder::write);
    return given.returned();
  }

  @Override
  public @Nullable Object invoke(Tool tool, FlowState flow, ObjectNode arguments) {
    invoked = true;
    throw new NotRecordedException("the tool " + tool.name() + " is invoked");
  }

  @Override
  public CompletionStage<FlowOutcome> callFlow(
      String flow, String callKey, ObjectNode arguments, FlowAttempt attempt) {
    ToolResult result = given.returned();
    if (result != null) {
      return CompletableFuture.completedFuture(
          new FlowOutcome.Result(String.valueOf(result.text()), result.failed(), given.work()));
    }
    return given.flow() == null
        ? CompletableFuture.failedFuture(missing("the flow " + flow + " is called"))
        : CompletableFuture.completedFuture(given.flow());
  }

  @Override
  public CompletionStage<FlowOutcome> answerFlow(
      String flow, String callKey, String answerId, ObjectNode answers) {
    return callFlow(flow, callKey, answers, FlowAttempt.REPEATED);
  }

  @Override
  public boolean allHave(String agent) {
    return given.returned() == null || !given.returned().failed();
  }

  @Override
  public CompletionStage<String> delegate(
      SubAgent relation,
      String principal,
      ThreadEvent.Parent parent,
      @Nullable String child,
      String message) {
    String threadId = given.child() == null ? child : given.child();
    return threadId == null
        ? CompletableFuture.failedFuture(
            missing("a thread of the agent " + relation.agent() + " is put to work"))
        : CompletableFuture.completedFuture(threadId);
  }

  @Override
  public CompletionStage<Optional<String>> spent(ThreadEvent.Parent parent, Usage total) {
    return CompletableFuture.completedFuture(Optional.ofNullable(given.overspent()));
  }

  @Override
  public CompletionStage<List<Message>> history(@Nullable String before, int limit, int depth) {
    HistoryReader reader = new HistoryReader(before, limit, depth);
    long end = seq;
    List<List<ThreadEvent>> page = pageBefore(end);
    while (!page.isEmpty()) {
      for (List<ThreadEvent> entry : page) {
        if (reader.full()) {
          return CompletableFuture.completedFuture(reader.messages());
        }
        reader.take(entry);
      }
      end -= page.size();
      page = pageBefore(end);
    }
    return CompletableFuture.completedFuture(reader.messages());
  }

  private List<List<ThreadEvent>> pageBefore(long end) {
    return read(() -> earlier.before(end, PAGE));
  }

  private <T> T read(Supplier<T> entries) {
    try {
      return entries.get();
    } catch (RuntimeException e) {
      unread = e;
      throw e;
    }
  }

  @Override
  public CompletionStage<byte[]> file(ThreadStorage.StoredFile file) {
    List<ThreadEvent> entry = file.seq() < seq ? read(() -> earlier.entry(file.seq())) : List.of();
    return file.index() < entry.size()
            && entry.get(file.index()) instanceof ThreadEvent.FileWritten written
        ? CompletableFuture.completedFuture(written.data())
        : CompletableFuture.failedFuture(missing("the file " + file.path() + " is read"));
  }

  @Override
  public long now() {
    return at;
  }

  @Override
  public void publish(MessageDelta delta) {}

  /** The environment of the host is not journaled. */
  @Override
  public @Nullable String env(String property) {
    return null;
  }

  // --- what is never decided again --------------------------------------------------------------

  private static <T> CompletionStage<T> never() {
    return CompletableFuture.failedFuture(
        new NotRecordedException("A replay delivers and withdraws nothing"));
  }

  @Override
  public CompletionStage<Optional<String>> withdraw(ThreadEvent.CallAbandoned left) {
    return never();
  }

  @Override
  public CompletionStage<Void> report(
      ThreadEvent.Parent parent, ThreadEvent.ReportPending pending, boolean working, Usage spent) {
    return never();
  }

  @Override
  public CompletionStage<Void> reportDeleted(ThreadEvent.Parent parent, Usage spent) {
    return never();
  }

  @Override
  public CompletionStage<Void> erase(List<String> children, List<ThreadEvent.CallAbandoned> left) {
    return never();
  }
}
