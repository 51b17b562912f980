package io.fermata.agent.engine;

import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.agent.state.ThreadState;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Recognises the inputs that the events of a thread's journal came from, other than the ends of
 * effects.
 *
 * @param state the state before the events
 * @param wanted the effects and timers of that state
 * @param events the events of an entry that no input accounts for yet; not empty
 * @param at when the entry was written
 */
record RecordedThreadInputs(
    ThreadState state, List<ThreadEffect> wanted, List<ThreadEvent> events, long at) {

  /** What may have come from clients and other threads. */
  List<ThreadInput> calls() {
    List<ThreadInput> inputs = new ArrayList<>();
    ThreadEvent first = events.get(0);
    if (first instanceof ThreadEvent.Created created) {
      inputs.add(create(created));
    } else if (first instanceof ThreadEvent.CallAnswered e) {
      inputs.add(
          new ThreadInput.Answer(
              e.call(), null, e.answerId(), e.approved(), e.answers(), e.reason(), e.by(), at));
    } else if (first instanceof ThreadEvent.CallBegan e) {
      inputs.add(new ThreadInput.FlowChanged(e.call(), at));
    } else if (first instanceof ThreadEvent.ChildStatusChanged e) {
      inputs.add(new ThreadInput.ChildStatusChanged(e.threadId(), e.report(), e.status(), at));
    }
    ThreadInput.Post post = post();
    if (post != null) {
      inputs.add(post);
    }
    child(inputs);
    for (ThreadEvent event : events) {
      if (event instanceof ThreadEvent.Stopped stopped
          && stopped.code().equals(StopCode.ABORTED_BY_USER)) {
        inputs.add(new ThreadInput.Stop(at));
      } else if (event instanceof ThreadEvent.Deleted) {
        inputs.add(new ThreadInput.Delete(at));
      }
    }
    return inputs;
  }

  private ThreadInput create(ThreadEvent.Created created) {
    List<Message> messages = new ArrayList<>();
    for (ThreadEvent event : events) {
      if (event instanceof ThreadEvent.Said said) {
        messages.add(said.message());
      }
    }
    return new ThreadInput.Create(
        created.threadId(),
        created.agent(),
        created.principal(),
        created.tags(),
        created.env(),
        created.parent(),
        messages,
        at);
  }

  /** A message comes after its attachments. */
  private ThreadInput.@Nullable Post post() {
    List<ThreadEvent.FileWritten> files = new ArrayList<>();
    for (ThreadEvent event : events) {
      if (event instanceof ThreadEvent.FileWritten file) {
        files.add(file);
      } else if (event instanceof ThreadEvent.Received received) {
        String folder = OriginalResults.folder(received.message().id());
        List<Attachment> attachments =
            files.stream()
                .map(
                    file ->
                        new Attachment(
                            file.path().substring(Math.min(folder.length(), file.path().length())),
                            file.mimeType(),
                            file.data()))
                .toList();
        return new ThreadInput.Post(received.key(), received.message(), attachments, at);
      } else if (!(event instanceof ThreadEvent.Released)) {
        return null;
      }
    }
    return null;
  }

  private void child(List<ThreadInput> inputs) {
    Usage spent = Usage.ZERO;
    ThreadEvent what = events.get(0);
    if (what instanceof ThreadEvent.ChildSpent total) {
      spent = total.usage();
      what = events.size() > 1 ? events.get(1) : what;
    }
    if (what instanceof ThreadEvent.ChildReported e) {
      inputs.add(
          new ThreadInput.Report(
              e.threadId(), e.report(), e.failed(), e.text(), e.working(), e.call(), spent, at));
    } else if (what instanceof ThreadEvent.ChildDeleted e) {
      inputs.add(new ThreadInput.ChildDeleted(e.threadId(), spent, at));
    } else if (events.get(0) instanceof ThreadEvent.ChildSpent e) {
      inputs.add(new ThreadInput.ChildSpent(e.threadId(), e.usage(), at));
    }
  }

  /** The inputs that time, a client that resumes the thread, or a restart may have caused. */
  List<ThreadInput> others() {
    List<ThreadInput> inputs = new ArrayList<>();
    ThreadEvent first =
        events.stream()
            .filter(event -> !(event instanceof ThreadEvent.Widened))
            .findFirst()
            .orElse(events.get(0));
    ThreadEffect timer = timer(first);
    if (timer != null) {
      inputs.add(new ThreadInput.EffectDue(timer, at));
    }
    if (first instanceof ThreadEvent.Forced forced) {
      inputs.add(new ThreadInput.Proceed(forced.side(), at));
    } else if (first instanceof ThreadEvent.Woke) {
      inputs.add(new ThreadInput.Proceed(null, at));
    }
    ThreadInput.Change change = change();
    if (change != null) {
      inputs.add(change);
    }
    Set<String> lost = lost();
    Set<String> running = new HashSet<>();
    for (ThreadEffect effect : wanted) {
      if (!lost.contains(effect.key())) {
        running.add(effect.key());
      }
    }
    inputs.add(new ThreadInput.Recovered(running, at));
    inputs.add(new ThreadInput.Recovered(at));
    return inputs;
  }

  private @Nullable ThreadEffect timer(ThreadEvent first) {
    for (ThreadEffect effect : wanted) {
      boolean due =
          switch (effect.kind()) {
            case CALL, LOOK ->
                first instanceof ThreadEvent.CallBegan e && e.call().equals(effect.id());
            case DEFERRED ->
                first instanceof ThreadEvent.EffectBegan e && e.id().equals(effect.id());
            default ->
                first instanceof ThreadEvent.DeliveryBegan e && e.what().equals(effect.delivery());
          };
      if (due && effect.timer()) {
        return effect;
      }
    }
    return null;
  }

  private ThreadInput.@Nullable Change change() {
    Set<String> tags = null;
    Map<String, String> env = new LinkedHashMap<>();
    for (ThreadEvent event : events) {
      if (event instanceof ThreadEvent.Tagged tagged) {
        tags = tagged.tags();
      } else if (event instanceof ThreadEvent.EnvSet set) {
        env.put(set.key(), set.value() == null ? "" : set.value());
      } else {
        return null;
      }
    }
    return new ThreadInput.Change(tags, env, at);
  }

  /** The keys of the effects that were restarted or abandoned. */
  private Set<String> lost() {
    Set<String> subjects = new HashSet<>();
    for (ThreadEvent event : events) {
      if (event instanceof ThreadEvent.StepBegan e) {
        subjects.add("s" + e.step());
      } else if (event instanceof ThreadEvent.TurnBegan e) {
        subjects.add("t" + e.step());
      } else if (event instanceof ThreadEvent.CallBegan e) {
        subjects.add(e.call());
      } else if (event instanceof ThreadEvent.CallReturned e) {
        subjects.add(e.call());
      } else if (event instanceof ThreadEvent.CallEnded e) {
        subjects.add(e.call());
      } else if (event instanceof ThreadEvent.EffectBegan e) {
        subjects.add(e.id());
      } else if (event instanceof ThreadEvent.EffectEnded e) {
        subjects.add(e.id());
      } else if (event instanceof ThreadEvent.Compacting
          || event instanceof ThreadEvent.Compacted) {
        subjects.add(WantedEffects.summary(state.steps().count(), state.history().upTo()));
      } else if (event instanceof ThreadEvent.StepFailed e) {
        StepFrame frame = state.frames().get(e.frame());
        subjects.add("s" + (frame == null ? 0 : frame.step()));
      }
    }
    Set<String> keys = new HashSet<>();
    for (ThreadEffect effect : wanted) {
      if (subjects.contains(effect.id()) && !effect.timer()) {
        keys.add(effect.key());
      }
    }
    return keys;
  }
}
