package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Observation.Progression;
import io.fermata.flow.observe.Observation.Source;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Tells runs in English: what was asked and answered, what steps did, which way the run went and on
 * which values, how long it waited, what failed and what was undone. It remembers its latest runs.
 * Safe to read while it listens.
 */
public final class Narrative implements Recorder {
  private static final int REMEMBERED = 100;

  private record RunKey(String flow, String session, String run) {}

  private final Map<RunKey, RunAccount> accounts = new LinkedHashMap<>();
  private final int remembered;

  /** What the client gives in one go is told in one sentence. */
  private final Map<String, @Nullable JsonNode> given = new LinkedHashMap<>();

  private @Nullable Occurrence givenAt;

  /** Where a correction was told, which is no second gift. */
  private @Nullable Occurrence corrected;

  /** A standstill, told once it is clear that the run does not go on without the step. */
  private Observation.@Nullable Pause halted;

  public Narrative() {
    this(REMEMBERED);
  }

  /** Remembers so many runs. */
  public Narrative(int runs) {
    remembered = runs;
  }

  /** The account of all the runs that it remembers, the earliest first. */
  public synchronized String text() {
    flush();
    return accounts.values().stream().map(RunAccount::text).collect(Collectors.joining("\n"));
  }

  /** The account of one run; empty if it is not remembered. */
  public synchronized String text(String run) {
    flush();
    return accounts.entrySet().stream()
        .filter(entry -> entry.getKey().run().equals(run))
        .map(entry -> entry.getValue().text())
        .collect(Collectors.joining("\n"));
  }

  @Override
  public synchronized void onEvent(Observation event) {
    boolean collects = event instanceof Observation.Written w && w.source() == Source.CLIENT;
    if (goesOnWithout(event)) {
      halted = null;
    }
    if (!collects) {
      flush();
    }
    event.to(this);
  }

  private boolean goesOnWithout(Observation event) {
    boolean givesUp =
        event instanceof Observation.BranchFailed || event instanceof Observation.RunEnding;
    return givesUp && halted != null && halted.moment().run().equals(event.moment().run());
  }

  private RunAccount account(Occurrence moment) {
    RunKey key = new RunKey(moment.flow(), moment.session(), moment.run());
    RunAccount account = accounts.computeIfAbsent(key, k -> new RunAccount());
    if (accounts.size() > remembered) {
      accounts.remove(accounts.keySet().iterator().next());
    }
    return account;
  }

  private void say(Occurrence moment, String sentence) {
    account(moment).add(moment, sentence, false);
  }

  private void stress(Occurrence moment, String sentence) {
    account(moment).add(moment, sentence, true);
  }

  private void flush() {
    Observation.Pause pause = halted;
    if (pause != null) {
      halted = null;
      stress(pause.moment(), name(pause.moment()) + " stood still, for somebody to try it again.");
    }
    Occurrence moment = givenAt;
    if (moment != null) {
      List<String> words = new ArrayList<>();
      given.forEach(
          (path, value) ->
              words.add(value == null ? "no " + path : path + " = " + Phrases.value(value)));
      given.clear();
      givenAt = null;
      say(moment, "The client gave " + Phrases.list(words) + ".");
    }
  }

  // --- the run --------------------------------------------------------------------------------

  @Override
  public void onRunStart(Observation.RunStart event) {
    Occurrence moment = event.moment();
    String intent = event.intent().isBlank() ? "" : ", because: " + Phrases.quoted(event.intent());
    say(
        moment,
        "Run %s of %s, version %d, began%s."
            .formatted(moment.run(), moment.flow(), event.version(), intent));
  }

  @Override
  public void onRunEnd(Observation.RunEnd event) {
    String after = after(event.millis());
    if (event.status() == RunState.Status.CANCELLED) {
      say(event.moment(), "The run was cancelled" + after + ".");
    } else if (event.status() == RunState.Status.EXPIRED) {
      say(event.moment(), "The run expired" + after + ".");
    } else if (event.status() == RunState.Status.ABANDONED) {
      say(event.moment(), "The run was left for another one" + after + ".");
    } else {
      String early = event.reason() == null ? "" : " early (" + Phrases.text(event.reason()) + ")";
      String result = event.result() == null ? "" : " with " + Phrases.value(event.result());
      say(event.moment(), "The run completed" + early + after + result + ".");
    }
  }

  private static String after(long millis) {
    return millis < 1_000 ? "" : " after " + Phrases.time(millis);
  }

  @Override
  public void onRunFailed(Observation.RunFailed event) {
    say(event.moment(), "The run failed" + after(event.millis()) + ": " + event.message());
  }

  @Override
  public void onRunEnding(Observation.RunEnding event) {
    String why = event.code() == null ? "was asked to end" : "could not go on";
    String undo =
        event.undo().isEmpty() ? "." : "; first " + steps(event.undo()) + " had to be undone.";
    say(event.moment(), "The run " + why + undo);
  }

  private static String steps(List<Place> places) {
    return Phrases.list(places.stream().map(Place::node).toList());
  }

  private static String name(Occurrence moment) {
    return name(moment.node());
  }

  private static String name(Place place) {
    return name(place.node());
  }

  /** What a node is called in its flow. */
  private static String name(String node) {
    String own = node.substring(node.lastIndexOf('/') + 1);
    return own.equals(Flow.START) ? "its start" : own.equals(Flow.END) ? "its end" : own;
  }

  // --- asking and waiting ---------------------------------------------------------------------

  @Override
  public void onWrite(Observation.Written event) {
    if (event.source() == Source.CLIENT && !corrects(event.moment())) {
      Occurrence at = givenAt;
      if (at != null && !at.run().equals(event.moment().run())) {
        flush();
      }
      givenAt = event.moment().ofRun();
      given.put(event.path(), event.value());
    }
  }

  private boolean corrects(Occurrence moment) {
    Occurrence at = corrected;
    return at != null && at.run().equals(moment.run()) && at.seq() == moment.seq();
  }

  @Override
  public void onPause(Observation.Pause event) {
    Occurrence moment = event.moment();
    String name = name(moment);
    Long deadline = event.deadline();
    String bound =
        deadline == null
            ? ""
            : ", for at most " + Phrases.time(Math.max(0, deadline - moment.at()));
    switch (event.what()) {
      case ANSWER -> {
        List<String> asked =
            event.questions().stream()
                .map(q -> Phrases.quoted(q.question()) + " (" + q.field() + ")")
                .toList();
        say(moment, name + " asked " + Phrases.list(asked) + bound + ".");
      }
      case WIDGET -> {
        Event.Widget widget = event.widget();
        String tool = widget == null ? name : widget.tool();
        String data =
            widget == null || widget.data() == null ? "" : " with " + Phrases.value(widget.data());
        say(moment, name + " showed " + tool + data + bound + ".");
      }
      case SIGNAL ->
          say(moment, name + " began to wait for the signal " + event.signal() + bound + ".");
      default -> halted = event;
    }
  }

  @Override
  public void onSleep(Observation.Sleep event) {
    Occurrence moment = event.moment();
    String time = Phrases.time(Math.max(0, event.until() - moment.at()));
    say(moment, name(moment) + " went to sleep for " + time + ".");
  }

  @Override
  public void onResume(Observation.Resume event) {
    Occurrence moment = event.moment();
    String name = name(moment);
    String waited = after(event.waited());
    switch (event.cause()) {
      case ANSWERED -> {
        boolean widget = event.what() == Observation.Wait.WIDGET;
        if (!waited.isEmpty()) {
          say(moment, name + (widget ? " was answered" : " had its answers") + waited + ".");
        }
      }
      case SIGNALLED -> say(moment, name + " went on" + waited + ".");
      case WOKEN -> say(moment, name + " woke up" + waited + ".");
      case OVERDUE ->
          stress(moment, name + " waited in vain for " + Phrases.time(event.waited()) + ".");
      case RETRIED -> say(moment, name + " was tried again" + waited + ".");
      case SKIPPED -> stress(moment, "Somebody took " + name + " as done" + waited + ".");
      case GIVEN_UP -> {}
    }
  }

  @Override
  public void onAnswer(Observation.Answer event) {
    Occurrence moment = event.moment();
    String field = event.field();
    String refusal = event.refusal();
    if (refusal != null) {
      stress(
          moment,
          "%s = %s was refused: %s"
              .formatted(field, Phrases.value(event.given()), Phrases.quoted(refusal)));
      return;
    }
    List<String> words = new ArrayList<>();
    if (event.normalised() != null && !event.normalised().equals(event.given())) {
      words.add("was taken as " + Phrases.value(event.normalised()));
    }
    if (!event.sets().isEmpty()) {
      words.add("brought " + Phrases.values(event.sets()));
    }
    if (!words.isEmpty()) {
      say(moment, field + " " + Phrases.list(words) + ".");
    }
  }

  @Override
  public void onReset(Observation.Reset event) {
    corrected = event.moment();
    List<String> to = event.to().stream().map(Narrative::name).toList();
    String back = to.isEmpty() ? "" : "; the run went back to " + Phrases.list(to);
    stress(
        event.moment(), "The client corrected " + Phrases.values(event.corrected()) + back + ".");
  }

  @Override
  public void onMigrated(Observation.Migrated event) {
    stress(
        event.moment(),
        "The run was carried over from version %d of its flow to version %d."
            .formatted(event.from(), event.to()));
  }

  @Override
  public void onSignal(Observation.Signal event) {
    String payload = event.payload() == null ? "" : " with " + Phrases.value(event.payload());
    say(
        event.moment(),
        event.taken()
            ? name(event.moment()) + " took the signal " + event.name() + payload + "."
            : "The signal " + event.name() + " came" + payload + ".");
  }

  @Override
  public void onReminder(Observation.Reminder event) {
    Occurrence moment = event.moment();
    if (event.progression() == Progression.DONE) {
      say(moment, "Reminder " + event.number() + " of " + name(moment) + " was sent.");
    } else if (event.failure() != null) {
      String failed = "Reminder %d of %s could not be sent: %s";
      stress(moment, failed.formatted(event.number(), name(moment), event.failure()));
    }
  }

  // --- acting ---------------------------------------------------------------------------------

  @Override
  public void onAttempt(Observation.Attempt event) {
    if (event.attempt() > 1) {
      say(event.moment(), name(event.moment()) + " began attempt " + event.attempt() + ".");
    }
  }

  @Override
  public void onCommit(Observation.Commit event) {
    String time = event.millis() < 1_000 ? "" : " in " + Phrases.time(event.millis());
    String name = name(event.moment());
    say(
        event.moment(),
        event.writes().isEmpty()
            ? name + " was done" + time + "."
            : name + " " + Phrases.writes(event.writes()) + time + ".");
  }

  @Override
  public void onEmit(Observation.Emit event) {
    String payload = event.payload() == null ? "" : ": " + Phrases.value(event.payload());
    say(event.moment(), name(event.moment()) + " told " + event.name() + payload + ".");
  }

  @Override
  public void onTag(Observation.Tag event) {
    if (!event.added().isEmpty()) {
      say(
          event.moment(),
          name(event.moment()) + " tagged the run " + Phrases.list(event.added()) + ".");
    }
    if (!event.removed().isEmpty()) {
      String tags = Phrases.list(event.removed());
      say(event.moment(), name(event.moment()) + " took the tags " + tags + " off the run.");
    }
  }

  @Override
  public void onError(Observation.Failure event) {
    if (event.recorder() == null) {
      String what = name(event.moment()) + " failed: ";
      stress(event.moment(), what + Phrases.text(event.message()));
    }
  }

  @Override
  public void onStageRetry(Observation.StageRetry event) {
    stress(
        event.moment(),
        "%s failed at attempt %d and was to be tried again in %s: %s"
            .formatted(
                name(event.moment()),
                event.attempt(),
                Phrases.time(event.delay()),
                Phrases.text(event.message())));
  }

  @Override
  public void onCompensation(Observation.Compensation event) {
    if (!Objects.requireNonNull(event.moment().place()).declared()) {
      expiryHook(event);
      return;
    }
    String name = name(event.moment());
    switch (event.progression()) {
      case BEGUN -> say(event.moment(), "The undoing of " + name + " began.");
      case SKIPPED -> stress(event.moment(), "Somebody took " + name + " as undone.");
      default -> say(event.moment(), name + " was undone.");
    }
  }

  private void expiryHook(Observation.Compensation event) {
    switch (event.progression()) {
      case BEGUN -> say(event.moment(), "The flow is told that the run expired.");
      case SKIPPED -> stress(event.moment(), "Somebody took the flow as told.");
      default -> say(event.moment(), "The flow was told that the run expired.");
    }
  }

  // --- the way --------------------------------------------------------------------------------

  @Override
  public void onDecision(Observation.Decision event) {
    Occurrence moment = event.moment();
    String chosen = event.chosen();
    if (chosen == null) {
      stress(moment, "Which way leads out of " + name(moment) + " could not be decided.");
      return;
    }
    say(
        moment,
        "After %s the run went to %s, because %s."
            .formatted(name(moment), name(chosen), because(event.rule(), event.tried())));
  }

  private static String because(@Nullable String rule, List<Event.Tried> tried) {
    if (rule == null) {
      List<String> not = tried.stream().map(Narrative::describe).toList();
      return "no rule held: " + String.join("; ", not);
    }
    return tried.stream()
        .filter(Event.Tried::matched)
        .map(Narrative::describe)
        .findFirst()
        .orElse(rule);
  }

  private static String describe(Event.Tried rule) {
    String looks = Phrases.looks(rule);
    return looks.isEmpty()
        ? Phrases.quoted(rule.rule())
        : Phrases.quoted(rule.rule()) + " (" + looks + ")";
  }

  @Override
  public void onSelected(Observation.Selected event) {
    List<String> held =
        event.tried().stream().filter(Event.Tried::matched).map(Narrative::describe).toList();
    say(
        event.moment(),
        "After %s the run chose %s, because %s."
            .formatted(
                name(event.moment()),
                Phrases.list(event.chosen().stream().map(Narrative::name).toList()),
                held.isEmpty() ? because(null, event.tried()) : String.join("; ", held)));
  }

  @Override
  public void onFork(Observation.Fork event) {
    List<String> labels = event.branches().stream().map(Event.Head::label).toList();
    String name = name(event.moment());
    if (event.list()) {
      String items = labels.size() == 1 ? "one item" : labels.size() + " items at once";
      say(event.moment(), "%s began for %s.".formatted(name, items));
    } else if (labels.size() > 1) {
      String sentence = "The run went on in %d branches at once: %s.";
      say(event.moment(), sentence.formatted(labels.size(), Phrases.list(labels)));
    }
  }

  @Override
  public void onJoin(Observation.Join event) {
    StringBuilder sentence = new StringBuilder(joined(event));
    if (!event.dropped().isEmpty()) {
      sentence.append(" without ").append(Phrases.list(event.dropped()));
    }
    // That a list's workplace is cleared away is no news.
    List<Write> news =
        event.writes().stream()
            .filter(write -> !event.list() || write.verb() != Write.Verb.DELETE)
            .toList();
    if (!news.isEmpty()) {
      sentence.append(" and ").append(Phrases.writes(news));
    }
    say(event.moment(), sentence + ".");
  }

  private static String joined(Observation.Join event) {
    List<String> merged = event.merged();
    String name = name(event.moment());
    if (event.list()) {
      String items =
          merged.size() == 1 ? "its item" : merged.isEmpty() ? "no item" : merged.size() + " items";
      return name + " is done with " + items;
    }
    return switch (merged.size()) {
      case 0 -> "No branch of " + name + " is left";
      case 1 -> "Branch " + merged.get(0) + " came to its end";
      default -> "Branches " + Phrases.list(merged) + " came together";
    };
  }

  @Override
  public void onBranchFailed(Observation.BranchFailed event) {
    stress(event.moment(), "Branch " + event.label() + " was given up: " + event.message());
  }

  @Override
  public void onSubflowEntry(Observation.SubflowEntry event) {
    String input = event.input().isEmpty() ? "" : ", given " + Phrases.values(event.input());
    say(event.moment(), "Sub-flow " + event.subflow() + " began" + input + ".");
  }

  @Override
  public void onSubflowExit(Observation.SubflowExit event) {
    String gave = event.output().isEmpty() ? "" : " and " + Phrases.writes(event.output());
    String result = event.result() == null ? "" : " with " + Phrases.value(event.result());
    say(event.moment(), "Sub-flow " + event.subflow() + " ended" + result + gave + ".");
  }

  @Override
  public void onLoop(Observation.Loop event) {
    Occurrence moment = event.moment();
    account(moment).pass(moment.branch(), event.to().node());
    say(moment, "Pass " + event.iteration() + " began at " + name(event.to()) + ".");
  }

  @Override
  public void onBreak(Observation.Break event) {
    String flow = event.subflow().isEmpty() ? "the run" : "sub-flow " + event.subflow();
    stress(event.moment(), name(event.moment()) + " ended " + flow + ": " + event.reason());
  }
}
