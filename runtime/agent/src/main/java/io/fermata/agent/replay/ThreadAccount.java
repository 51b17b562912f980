package io.fermata.agent.replay;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.TurnState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Events of threads in English, each on one line whatever it quotes. */
final class ThreadAccount {
  private static final int LONGEST = 200;

  private final @Nullable ThreadSecrets secrets;

  private ThreadAccount(@Nullable ThreadSecrets secrets) {
    this.secrets = secrets;
  }

  /** Shows no secrets of a thread. */
  static ThreadAccount without(ThreadSecrets secrets) {
    return new ThreadAccount(secrets);
  }

  static ThreadAccount withSecrets() {
    return new ThreadAccount(null);
  }

  /** A message of a conversation in a line. */
  String line(Message message) {
    return shown(whole(message));
  }

  String of(ThreadEvent event) {
    return shown(whole(event));
  }

  private String shown(String text) {
    return Texts.visible(masked(text));
  }

  String masked(String text) {
    return secrets == null ? text : secrets.masked(text);
  }

  private String whole(Message message) {
    String who =
        message.role() == Role.TOOL
            ? message.name() + (message.failed() ? " (failed)" : "")
            : message.role().name().toLowerCase(Locale.ROOT);
    String text = message.content() == null ? "" : " " + message.content();
    String calls = calls(message.toolCalls());
    return who
        + (message.silent() ? " (silent)" : "")
        + ":"
        + text
        + (calls.isEmpty() ? "" : " [" + calls + "]");
  }

  private String calls(List<RequestedCall> calls) {
    return calls.stream()
        .map(call -> call.name() + " " + arguments(call))
        .collect(Collectors.joining(", "));
  }

  /** The arguments of a call, as a JSON text. */
  String arguments(RequestedCall call) {
    return secrets == null ? call.function().arguments() : secrets.masked(call);
  }

  /** Where a thread stands at the end of its journal. */
  String standing(ThreadJournal journal) {
    if (journal.redacted()) {
      return "where it stands is encrypted with a key that is not there";
    }
    ThreadState state = journal.state();
    TurnState.Rest rest = state.turn().rest();
    if (!state.exists()) {
      return state.deleted() ? "the thread is deleted" : "the thread does not exist yet";
    }
    String rests = rest == null ? "the thread waits" : rests(rest.code(), rest.detail());
    if (state.asks()) {
      return shown(rests + "; a person is asked by " + asking(state));
    } else if (state.turn().running()) {
      return shown("the thread acts" + (state.frames().isEmpty() ? "" : ": " + doing(state)));
    }
    return shown(rests);
  }

  private static String asking(ThreadState state) {
    Stream<String> calls =
        state.open().stream()
            .map(call -> "the call %s of %s".formatted(call.key(), call.call().name()));
    Stream<String> children =
        state.askingIn().stream().map(child -> "the thread " + child.threadId());
    return Stream.concat(calls, children).collect(Collectors.joining(", "));
  }

  private static String doing(ThreadState state) {
    return state.frames().values().stream()
        .map(ThreadAccount::doing)
        .collect(Collectors.joining(", "));
  }

  private static String doing(StepFrame frame) {
    String calls =
        frame.calls().stream()
            .filter(call -> !call.over())
            .map(call -> call.call().name())
            .collect(Collectors.joining(", "));
    return switch (frame.stage()) {
      case OPENED, THINKING -> "a model is asked";
      case HANDLING -> "code has the turn";
      case CALLING -> calls.isEmpty() ? "a step ends" : "calls " + calls;
    };
  }

  private String rests(String code, @Nullable String detail) {
    return "the thread rests: " + code + because(detail == null ? null : detail(code, detail));
  }

  /** In a sandbox it quotes the calls that were not made. */
  private String detail(String code, String detail) {
    return secrets != null && code.equals(StopCode.SANDBOXED)
        ? secrets.maskedCalls(detail)
        : detail;
  }

  /** Masked as long as it is whole: of a secret that is cut off, the rest is not recognised. */
  private String quoted(@Nullable String text) {
    if (text == null) {
      return "nothing";
    }
    return "\"" + Texts.shortened(masked(text), LONGEST) + "\"";
  }

  private String because(@Nullable String detail) {
    return detail == null ? "" : " (" + masked(detail) + ")";
  }

  private String whole(ThreadEvent event) {
    if (event instanceof ThreadEvent.Change change) {
      return change(change);
    } else if (event instanceof ThreadEvent.OfCall call) {
      return call(call);
    }
    String step = step(event);
    String outside = step == null ? outside(event) : step;
    return outside == null ? thread(event) : outside;
  }

  private @Nullable String step(ThreadEvent event) {
    if (event instanceof ThreadEvent.StepBegan e) {
      return "the model of side %s is asked (prompt %s, step %s, attempt %s)"
          .formatted(e.side(), e.prompt(), e.step(), e.attempt());
    } else if (event instanceof ThreadEvent.StepEnded e) {
      String calls = calls(e.calls());
      return "the model %s replied %s%s%s"
          .formatted(
              e.log().model(),
              quoted(e.message().content()),
              calls.isEmpty() ? "" : " and calls " + calls,
              e.log().cutOff() ? ", cut off at its output limit" : "");
    } else if (event instanceof ThreadEvent.StepFailed e) {
      return "no model replied, %s: %s".formatted(e.code(), e.reason());
    } else if (event instanceof ThreadEvent.TurnBegan e) {
      return "the code of side %s takes its turn (attempt %s)".formatted(e.side(), e.attempt());
    } else if (event instanceof ThreadEvent.FrameOpened e) {
      String said = e.said().stream().map(this::whole).collect(Collectors.joining("; "));
      return (e.frame().isEmpty()
              ? "a step without a model begins"
              : "the sub-prompt %s of %s begins".formatted(e.prompt(), e.frame()))
          + (said.isEmpty() ? "" : ": " + said);
    } else if (event instanceof ThreadEvent.FrameClosed e) {
      if (e.late()) {
        return "the call that the conversation did not wait for is over";
      }
      return e.frame().isEmpty() ? "the step is over" : "the sub-prompt of " + e.frame() + " ended";
    }
    return null;
  }

  private String call(ThreadEvent.OfCall event) {
    if (event instanceof ThreadEvent.CallBegan e) {
      return "the call %s is made (attempt %s)".formatted(e.call(), e.attempt());
    } else if (event instanceof ThreadEvent.CallFailed e) {
      return "the call %s failed and is retried: %s".formatted(e.call(), e.reason());
    } else if (event instanceof ThreadEvent.CallWaits e) {
      return "the flow behind the call %s continues by itself".formatted(e.call());
    } else if (event instanceof ThreadEvent.CallAsked e) {
      return "a person is asked %s the call %s: %s"
          .formatted(
              e.approval() ? "to approve" : "by the flow behind",
              e.call(),
              secrets == null ? Json.text(e.question()) : secrets.masked(e));
    } else if (event instanceof ThreadEvent.CallAnswered e) {
      return "a person %s the call %s"
          .formatted(
              e.approved() == null ? "answered" : e.approved() ? "approved" : "denied", e.call());
    } else if (event instanceof ThreadEvent.CallDelegated e) {
      return e.threadId().isEmpty()
          ? "a sub-prompt works for the call " + e.call()
          : "the thread %s works for the call %s".formatted(e.threadId(), e.call());
    } else if (event instanceof ThreadEvent.CallReturned e) {
      return "the call %s returned %s".formatted(e.call(), quoted(e.result().text()));
    } else if (event instanceof ThreadEvent.CallEnded e) {
      return "the call %s of %s ended%s: %s"
          .formatted(
              e.call(),
              e.message().name(),
              e.message().failed() ? " in failure" : "",
              quoted(e.message().content()));
    } else if (event instanceof ThreadEvent.CallDetached e) {
      return "the conversation continues while a person decides the call " + e.call();
    } else if (event instanceof ThreadEvent.CallRemoved e) {
      return "a hook removed the call " + e.call();
    } else if (event instanceof ThreadEvent.CallAbandoned e) {
      return "the call %s is over; %s is to be withdrawn"
          .formatted(
              e.call(),
              e.flow() != null
                  ? "what the flow " + e.flow() + " may do for it"
                  : e.child() != null
                      ? "its work in the thread " + e.child()
                      : "a thread of the agent " + e.unborn() + " that it may have created");
    } else if (event instanceof ThreadEvent.CallWithdrawn e) {
      return "the work for the call %s is withdrawn".formatted(e.call());
    }
    return rest(event);
  }

  /** What it does beside its turns: scheduled work, and its parent and children. */
  private @Nullable String outside(ThreadEvent event) {
    if (event instanceof ThreadEvent.EffectBegan e) {
      return "the scheduled work %s begins (attempt %s)".formatted(e.id(), e.attempt());
    } else if (event instanceof ThreadEvent.EffectDelayed e) {
      return "the scheduled work %s failed and is retried: %s".formatted(e.id(), e.reason());
    } else if (event instanceof ThreadEvent.EffectEnded e) {
      return "the scheduled work %s ended%s".formatted(e.id(), because(e.error()));
    } else if (event instanceof ThreadEvent.ChildReported e) {
      return "the thread %s reported %s".formatted(e.threadId(), quoted(e.text()));
    } else if (event instanceof ThreadEvent.ChildStatusChanged e) {
      return "the thread %s is %s".formatted(e.threadId(), named(e.status()));
    } else if (event instanceof ThreadEvent.ChildSpent e) {
      return "the thread %s has spent %s input and %s output tokens in all"
          .formatted(e.threadId(), e.usage().inputTokens(), e.usage().outputTokens());
    } else if (event instanceof ThreadEvent.ChildDeleted e) {
      return "the thread %s is deleted".formatted(e.threadId());
    } else if (event instanceof ThreadEvent.ReportPending e) {
      return "the report %s to the parent is due: %s"
          .formatted(e.report(), e.status() == null ? quoted(e.text()) : named(e.status()));
    } else if (event instanceof ThreadEvent.Reported e) {
      return "the parent has the report " + e.report();
    } else if (event instanceof ThreadEvent.DeliveryFailed e) {
      return "the delivery of %s failed and is retried: %s".formatted(e.what(), e.reason());
    } else if (event instanceof ThreadEvent.DeliveryBegan e) {
      return "the delivery of %s begins (attempt %s)".formatted(e.what(), e.attempt());
    }
    return null;
  }

  private static String named(ChildThread.Status status) {
    return status.name().toLowerCase(Locale.ROOT);
  }

  private String thread(ThreadEvent event) {
    if (event instanceof ThreadEvent.Created e) {
      return "the thread %s of the agent %s is created".formatted(e.threadId(), e.agent());
    } else if (event instanceof ThreadEvent.ForkedFrom e) {
      return "the thread is a fork of %s at entry %s, %s, by %s%s; what is above happened there"
          .formatted(
              e.fork().threadId(),
              e.fork().entry(),
              switch (e.fork().mode()) {
                case LIVE -> "live";
                case SANDBOX -> "in a sandbox";
                case REPLAY_EFFECTS -> "with its results";
              },
              e.fork().by(),
              e.agent() == null ? "" : ", and the agent " + e.agent() + " acts from here on");
    } else if (event instanceof ThreadEvent.Received e) {
      return "a message is received: " + whole(e.message());
    } else if (event instanceof ThreadEvent.Taken e) {
      return "a message is added: " + whole(e.message());
    } else if (event instanceof ThreadEvent.SideTurned e) {
      return "it is the turn of side %s, after side %s".formatted(e.to(), e.from());
    } else if (event instanceof ThreadEvent.HandedOver e) {
      return "the agent %s takes over".formatted(e.agent());
    } else if (event instanceof ThreadEvent.Stopped e) {
      return rests(e.code(), e.detail());
    } else if (event instanceof ThreadEvent.Compacting e) {
      return "the older messages are being summarized (attempt %s)".formatted(e.attempt());
    } else if (event instanceof ThreadEvent.Compacted e) {
      return e.summary() == null
          ? "the older messages could not be summarized"
          : "the older messages are summarized: " + quoted(e.summary());
    } else if (event instanceof ThreadEvent.Greeted) {
      return "the hooks for a new thread have been called";
    } else if (event instanceof ThreadEvent.Woke) {
      return "the thread begins to act";
    } else if (event instanceof ThreadEvent.Released) {
      return "the thread is no longer stopped, as a message came";
    } else if (event instanceof ThreadEvent.Widened e) {
      return "its state keeps %s messages from here on".formatted(e.window());
    } else if (event instanceof ThreadEvent.Deleted) {
      return "the thread is deleted, with its data";
    }
    return rest(event);
  }

  private String change(ThreadEvent.Change change) {
    if (change instanceof ThreadEvent.Said e) {
      return "a message is added: " + whole(e.message());
    } else if (change instanceof ThreadEvent.Updated e) {
      return "the message %s becomes %s".formatted(e.messageId(), quoted(e.update().content()));
    } else if (change instanceof ThreadEvent.Queued e) {
      return "a call is queued: " + calls(List.of(e.call()));
    } else if (change instanceof ThreadEvent.Forced e) {
      return "side %s is to act next".formatted(e.side());
    } else if (change instanceof ThreadEvent.StopWanted e) {
      return "the thread is to stop" + because(e.reason());
    } else if (change instanceof ThreadEvent.Scheduled e) {
      String arguments = secrets == null ? Json.text(e.arguments()) : secrets.masked(e);
      return "the work %s is scheduled: %s".formatted(e.effect(), arguments);
    } else if (change instanceof ThreadEvent.HookFailed e) {
      return "the hook %s (%s) failed: %s".formatted(e.hook(), e.point(), e.reason());
    } else if (change instanceof ThreadEvent.ModelReplied e) {
      return "the model said %s, which was changed".formatted(quoted(e.text()));
    } else if (change instanceof ThreadEvent.ToolReturned e) {
      ToolResult result = e.result();
      String text = quoted(result == null ? null : result.text());
      return result != null && result.failed()
          ? "the call %s returned the error %s".formatted(e.call(), text)
          : "the call %s returned %s, before its hooks".formatted(e.call(), text);
    } else if (change instanceof ThreadEvent.Stored e) {
      return "storage.%s becomes %s".formatted(e.key(), value(e.value()));
    } else if (change instanceof ThreadEvent.ContextSet e) {
      return "context.%s becomes %s".formatted(e.key(), value(e.value()));
    } else if (change instanceof ThreadEvent.EnvSet e) {
      return "env.%s becomes %s".formatted(e.key(), quoted(e.value()));
    } else if (change instanceof ThreadEvent.FileWritten e) {
      return "the file %s is written, %s bytes".formatted(e.path(), e.data().length);
    } else if (change instanceof ThreadEvent.FileMoved e) {
      return "the file %s is moved to %s".formatted(e.path(), e.to());
    } else if (change instanceof ThreadEvent.FileRemoved e) {
      return "the file %s is removed".formatted(e.path());
    } else if (change instanceof ThreadEvent.Tagged e) {
      return "its tags become " + new TreeSet<>(e.tags());
    } else if (change instanceof ThreadEvent.StatusSet e) {
      return "its status text becomes " + quoted(e.text());
    } else if (change instanceof ThreadEvent.Emitted e) {
      return "the event %s is published: %s".formatted(e.type(), value(e.data()));
    } else if (change instanceof ThreadEvent.Unscheduled e) {
      return "the scheduled work %s is cancelled".formatted(e.id());
    } else if (change instanceof ThreadEvent.ChildCreated e) {
      ChildThread child = e.child();
      return "the thread %s of the agent %s is created as %s"
          .formatted(child.threadId(), child.agent(), child.relation());
    } else if (change instanceof ThreadEvent.ChildResumed e) {
      return "side %s gives the thread %s more to do".formatted(e.side(), e.threadId());
    }
    return rest(change);
  }

  private static String value(@Nullable JsonNode value) {
    return value == null ? "nothing" : Texts.shortened(Json.text(value), LONGEST);
  }

  /** An event that has no words yet, as it is journaled. */
  private static String rest(ThreadEvent event) {
    return Json.text(Json.MAPPER.valueToTree(event));
  }
}
