package io.fermata.agent.engine;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.OutcomeUnknownException;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.ModelReply;
import io.fermata.agent.model.Reasoning;
import io.fermata.agent.state.SourceResult;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.agent.state.ThreadState;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the events of an entry say about an effect that ended with it.
 *
 * @param events the rest of the entry
 * @param place the first event that is about the effect
 */
record RecordedEffect(ThreadState state, ThreadEffect effect, List<ThreadEvent> events, int place) {
  private static final String SUB_PROMPT_FAILED = "sub_prompt_failed";

  private static final Set<Class<?>> ENDS_ATTEMPT =
      Set.of(
          ThreadEvent.CallEnded.class,
          ThreadEvent.CallRemoved.class,
          ThreadEvent.CallWaits.class,
          ThreadEvent.CallDelegated.class,
          ThreadEvent.CallFailed.class,
          ThreadEvent.CallReturned.class);

  /** How an effect may have ended. */
  sealed interface Ending {}

  /** Its result is in the journal, and no hook saw it. */
  record Result(ThreadInput.Result result) implements Ending {}

  /**
   * Author code made its result from what outside returned, and makes it again.
   *
   * @param unanswered how the model failed to reply; null if it did not
   */
  record Made(RecordedOutside.Given given, ThreadInput.@Nullable Unanswered unanswered)
      implements Ending {
    Made(RecordedOutside.Given given) {
      this(given, null);
    }
  }

  /**
   * What outside returned is not in the journal.
   *
   * @param work the changes that the work of the call made
   */
  record Unknown(List<ThreadEvent.Change> work) implements Ending {}

  /** Null if no event is about the effect. */
  static @Nullable RecordedEffect of(
      ThreadState state, ThreadEffect effect, List<ThreadEvent> events) {
    for (int i = 0; i < events.size(); i++) {
      if (about(state, effect, events.get(i))) {
        return new RecordedEffect(state, effect, events, i);
      }
    }
    return null;
  }

  private static boolean about(ThreadState state, ThreadEffect effect, ThreadEvent event) {
    String id = effect.id();
    return switch (effect.kind()) {
      case GREET -> event instanceof ThreadEvent.Greeted;
      case RECEIVE -> event instanceof ThreadEvent.Taken e && e.message().id().equals(id);
      case STEP -> {
        String frame = frame(state, effect);
        yield (event instanceof ThreadEvent.StepEnded e && e.frame().equals(frame))
            || (event instanceof ThreadEvent.StepFailed f && f.frame().equals(frame))
            || (event instanceof ThreadEvent.FrameClosed c && c.frame().equals(frame));
      }
      case HANDLE -> event instanceof ThreadEvent.FrameClosed e && e.frame().equals(StepFrame.TOP);
      case CALL, STORE -> aboutCall(state, id, event);
      case DEFERRED ->
          (event instanceof ThreadEvent.EffectEnded e && e.id().equals(id))
              || (event instanceof ThreadEvent.EffectDelayed d && d.id().equals(id));
      case COMPACT -> event instanceof ThreadEvent.Compacted;
      case REPORT ->
          (event instanceof ThreadEvent.Reported e && id.equals("" + e.report()))
              || failed(effect, event);
      case WITHDRAW ->
          (event instanceof ThreadEvent.CallWithdrawn e && e.call().equals(id))
              || failed(effect, event);
      case LOOK, EXPIRE, ERASE -> false;
    };
  }

  private static boolean failed(ThreadEffect effect, ThreadEvent event) {
    return event instanceof ThreadEvent.DeliveryFailed e && e.what().equals(effect.delivery());
  }

  private static boolean aboutCall(ThreadState state, String call, ThreadEvent event) {
    StepFrame frame = state.frameOf(call);
    return (event instanceof ThreadEvent.OfCall of && of.call().equals(call) && endsAttempt(of))
        || (event instanceof ThreadEvent.FrameClosed closed
            && frame != null
            && frame.detached()
            && closed.frame().equals(frame.path()));
  }

  private static boolean endsAttempt(ThreadEvent.OfCall event) {
    return event instanceof ThreadEvent.CallAsked asked
        ? !asked.approval()
        : ENDS_ATTEMPT.contains(event.getClass());
  }

  /** The frame of a step. */
  private static @Nullable String frame(ThreadState state, ThreadEffect effect) {
    return state.frames().values().stream()
        .filter(frame -> effect.id().equals("s" + frame.step()))
        .map(StepFrame::path)
        .findFirst()
        .orElse(null);
  }

  /** How it may have ended, the likeliest first. */
  List<Ending> endings() {
    ThreadEvent event = events.get(place);
    return switch (effect.kind()) {
      case GREET, RECEIVE, STORE -> List.of(new Made(RecordedOutside.Given.NOTHING));
      case STEP -> step(event);
      case HANDLE -> handled();
      case CALL -> called(event);
      case DEFERRED -> List.of(new Result(deferred(event)));
      case COMPACT -> List.of(new Result(compacted(event)));
      case LOOK, REPORT, WITHDRAW, EXPIRE, ERASE ->
          List.of(
              new Result(
                  event instanceof ThreadEvent.DeliveryFailed failed
                      ? failure(null, failed.reason())
                      : new ThreadInput.Done(List.of())));
    };
  }

  private static ThreadInput.Failed failure(@Nullable String code, @Nullable String reason) {
    return new ThreadInput.Failed(code == null ? "failed" : code, String.valueOf(reason), null);
  }

  /** The changes directly before the event that is about the effect. */
  private List<ThreadEvent.Change> before() {
    List<ThreadEvent.Change> changes = new ArrayList<>();
    for (ThreadEvent event : events.subList(0, place)) {
      if (event instanceof ThreadEvent.Change change) {
        changes.add(change);
      }
    }
    return changes;
  }

  // --- steps ------------------------------------------------------------------------------------

  private List<Ending> step(ThreadEvent event) {
    if (event instanceof ThreadEvent.StepEnded ended) {
      return List.of(new Made(RecordedOutside.Given.reply(reply(ended))));
    } else if (event instanceof ThreadEvent.StepFailed failed) {
      return List.of(
          failed.failed().isEmpty()
              ? new Result(failure(failed.code(), failed.reason()))
              : new Made(
                  RecordedOutside.Given.NOTHING,
                  new ThreadInput.Unanswered(
                      failed.code(), failed.reason(), failed.failed(), null)));
    }
    List<Ending> endings = new ArrayList<>();
    String overspent = overspent();
    if (overspent != null) {
      endings.add(new Made(RecordedOutside.Given.overspent(overspent)));
    }
    endings.add(new Made(RecordedOutside.Given.NOTHING));
    return endings;
  }

  private ModelReply reply(ThreadEvent.StepEnded ended) {
    ThreadEvent.StepLog log = ended.log();
    return new ModelReply(
        message(text(ended, before()), ended.calls(), log.reasoning()),
        log.model(),
        log.finish(),
        log.usage(),
        log.failed());
  }

  /** A reply that the source of a fork got. */
  static ModelReply reply(SourceResult.Reply known) {
    return new ModelReply(
        message(known.text(), known.calls(), known.reasoning()),
        known.model(),
        known.finish(),
        known.usage(),
        List.of());
  }

  /** What the model said, whatever hooks made of it. */
  static @Nullable String text(ThreadEvent.StepEnded ended, List<ThreadEvent.Change> before) {
    String text = ended.message().content();
    for (ThreadEvent.Change change : before) {
      text = change instanceof ThreadEvent.ModelReplied replied ? replied.text() : text;
    }
    return text;
  }

  private static AiMessage message(
      @Nullable String text, List<RequestedCall> requested, @Nullable Reasoning reasoning) {
    List<ToolExecutionRequest> calls = new ArrayList<>();
    for (RequestedCall call : requested) {
      calls.add(
          ToolExecutionRequest.builder()
              .id(call.id())
              .name(call.name())
              .arguments(call.function().arguments())
              .build());
    }
    AiMessage.Builder message = AiMessage.builder().text(text).toolExecutionRequests(calls);
    return (reasoning == null ? message : reasoning.in(message)).build();
  }

  /** The reason if the budget of an ancestor may have ended the step. */
  private @Nullable String overspent() {
    ThreadEvent.Created created = state.created();
    if (created == null || created.parent() == null || place + 1 >= events.size()) {
      return null;
    }
    ThreadEvent next = events.get(place + 1);
    if (next instanceof ThreadEvent.Stopped stopped) {
      return stopped.code().equals(StopCode.BUDGET_SPENT) ? stopped.detail() : null;
    } else if (next instanceof ThreadEvent.CallReturned returned) {
      ToolResult result = returned.result();
      return SUB_PROMPT_FAILED.equals(result.code()) ? result.text() : null;
    }
    return next instanceof ThreadEvent.CallEnded ended && SUB_PROMPT_FAILED.equals(ended.code())
        ? error(ended).text()
        : null;
  }

  private List<Ending> handled() {
    List<ThreadEvent.Change> changes = new ArrayList<>();
    int next = place + 1;
    while (next < events.size() && events.get(next) instanceof ThreadEvent.Change change) {
      changes.add(change);
      next++;
    }
    boolean failed =
        changes.isEmpty()
            && next < events.size()
            && events.get(next) instanceof ThreadEvent.Stopped stopped
            && stopped.code().equals(StopCode.STEP_ERROR);
    return List.of(
        new Result(
            failed
                ? failure(null, ((ThreadEvent.Stopped) events.get(next)).detail())
                : new ThreadInput.Done(changes)));
  }

  // --- calls ------------------------------------------------------------------------------------

  private List<Ending> called(ThreadEvent event) {
    if (event instanceof ThreadEvent.CallFailed failed) {
      return List.of(new Result(failure(null, failed.reason())));
    } else if (event instanceof ThreadEvent.CallReturned returned) {
      return List.of(new Result(failure(returned.result())));
    } else if (event instanceof ThreadEvent.CallWaits waits) {
      return List.of(new Made(RecordedOutside.Given.flow(waiting(waits))));
    } else if (event instanceof ThreadEvent.CallAsked asked) {
      return List.of(
          new Made(RecordedOutside.Given.flow(new Outside.FlowOutcome.Asking(asked.question()))));
    } else if (event instanceof ThreadEvent.CallDelegated delegated) {
      return List.of(new Made(RecordedOutside.Given.child(delegated.threadId())));
    }
    List<ThreadEvent.Change> before = before();
    if (event instanceof ThreadEvent.CallEnded ended) {
      boolean threw = ended.message().failed() && before.stream().noneMatch(this::returned);
      return List.of(
          threw
              ? new Result(failure(error(ended)))
              : worked(effect.id(), ended.message(), ended.code(), before));
    }
    return List.of(worked(effect.id(), null, null, before));
  }

  private boolean returned(ThreadEvent.Change change) {
    return change instanceof ThreadEvent.ToolReturned returned
        && returned.call().equals(effect.id());
  }

  /** What a call came to that threw, so that no hook saw it. */
  private static ToolResult error(ThreadEvent.CallEnded ended) {
    return OriginalResults.of(ended.call(), ended.message(), ended.code(), List.of());
  }

  private static Outside.FlowOutcome waiting(ThreadEvent.CallWaits waits) {
    return waits.waitsFor() == null
        ? new Outside.FlowOutcome.Unfinished(waits.begun())
        : new Outside.FlowOutcome.Waiting(waits.waitsFor(), waits.until());
  }

  private static ThreadInput.Failed failure(ToolResult result) {
    return ThreadProgram.unknown().equals(result)
        ? failure(OutcomeUnknownException.CODE, result.text())
        : failure(result.code(), result.text());
  }

  /**
   * What the work of a call returned, as far as its end says so.
   *
   * @param before the changes before the end
   */
  static Ending worked(
      String call,
      @Nullable Message message,
      @Nullable String code,
      List<ThreadEvent.Change> before) {
    String child = null;
    for (int i = 0; i < before.size(); i++) {
      if (before.get(i) instanceof ThreadEvent.ChildCreated born) {
        child = born.child().threadId();
      } else if (before.get(i) instanceof ThreadEvent.ToolReturned original
          && original.call().equals(call)) {
        List<ThreadEvent.Change> work = before.subList(i - original.changes(), i);
        ToolResult kept = original.result();
        return kept == null
            ? new Unknown(List.copyOf(work))
            : made(work, OriginalResults.withData(kept, call, before), child);
      }
    }
    if (message == null) {
      return new Made(new RecordedOutside.Given(null, null, List.of(), null, null, child));
    }
    ToolResult result = OriginalResults.of(call, message, code, before);
    int files = result.attachments().size();
    return made(before.subList(0, before.size() - files), result, child);
  }

  private static Made made(
      List<ThreadEvent.Change> work, ToolResult result, @Nullable String child) {
    return new Made(new RecordedOutside.Given(null, null, List.copyOf(work), result, null, child));
  }

  // --- the rest ---------------------------------------------------------------------------------

  private ThreadInput.Result deferred(ThreadEvent event) {
    if (event instanceof ThreadEvent.EffectDelayed delayed) {
      return failure(null, delayed.reason());
    }
    String error = ((ThreadEvent.EffectEnded) event).error();
    return error == null ? new ThreadInput.Done(before()) : failure(null, error);
  }

  private static ThreadInput.Result compacted(ThreadEvent event) {
    ThreadEvent.Compacted done = (ThreadEvent.Compacted) event;
    return done.model() != null
        ? new ThreadInput.Summed(done.summary(), done.upTo(), done.model(), done.usage())
        : failure(null, "no summary");
  }
}
