package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Event;
import io.fermata.flow.Flow;
import io.fermata.flow.Moment;
import io.fermata.flow.Place;
import io.fermata.flow.Recorded;
import io.fermata.flow.Recorded.Progression;
import io.fermata.flow.Recorded.Source;
import io.fermata.flow.Recorder;
import io.fermata.flow.RunState;
import io.fermata.flow.Write;
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

  private final Map<RunKey, Account> accounts = new LinkedHashMap<>();
  private final int remembered;

  /** What the client gives in one go is told in one sentence. */
  private final Map<String, @Nullable JsonNode> given = new LinkedHashMap<>();

  private @Nullable Moment givenAt;

  /** Where a correction was told, which is no second gift. */
  private @Nullable Moment corrected;

  /** A standstill, told once it is clear that the run does not go on without the step. */
  private Recorded.@Nullable Pause halted;

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
    return accounts.values().stream().map(Account::text).collect(Collectors.joining("\n"));
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
  public synchronized void onEvent(Recorded event) {
    boolean collects = event instanceof Recorded.Written w && w.source() == Source.CLIENT;
    if (goesOnWithout(event)) {
      halted = null;
    }
    if (!collects) {
      flush();
    }
    event.to(this);
  }

  private boolean goesOnWithout(Recorded event) {
    boolean givesUp = event instanceof Recorded.BranchFailed || event instanceof Recorded.RunEnding;
    return givesUp && halted != null && halted.moment().run().equals(event.moment().run());
  }

  private Account account(Moment moment) {
    RunKey key = new RunKey(moment.flow(), moment.session(), moment.run());
    Account account = accounts.computeIfAbsent(key, k -> new Account());
    if (accounts.size() > remembered) {
      accounts.remove(accounts.keySet().iterator().next());
    }
    return account;
  }

  private void say(Moment moment, String sentence) {
    account(moment).add(moment, sentence, false);
  }

  private void stress(Moment moment, String sentence) {
    account(moment).add(moment, sentence, true);
  }

  private void flush() {
    Recorded.Pause pause = halted;
    if (pause != null) {
      halted = null;
      stress(pause.moment(), name(pause.moment()) + " stood still, for somebody to try it again.");
    }
    Moment moment = givenAt;
    if (moment != null) {
      List<String> words = new ArrayList<>();
      given.forEach(
          (path, value) ->
              words.add(value == null ? "no " + path : path + " = " + Words.value(value)));
      given.clear();
      givenAt = null;
      say(moment, "The client gave " + Words.list(words) + ".");
    }
  }

  // --- the run --------------------------------------------------------------------------------

  @Override
  public void onRunStart(Recorded.RunStart event) {
    Moment moment = event.moment();
    String intent = event.intent().isBlank() ? "" : ", because: " + Words.quoted(event.intent());
    say(
        moment,
        "Run %s of %s, version %d, began%s."
            .formatted(moment.run(), moment.flow(), event.version(), intent));
  }

  @Override
  public void onRunEnd(Recorded.RunEnd event) {
    String after = after(event.millis());
    if (event.status() == RunState.Status.CANCELLED) {
      say(event.moment(), "The run was cancelled" + after + ".");
    } else if (event.status() == RunState.Status.EXPIRED) {
      say(event.moment(), "The run expired" + after + ".");
    } else if (event.status() == RunState.Status.ABANDONED) {
      say(event.moment(), "The run was left for another one" + after + ".");
    } else {
      String early = event.reason() == null ? "" : " early (" + Words.text(event.reason()) + ")";
      String result = event.result() == null ? "" : " with " + Words.value(event.result());
      say(event.moment(), "The run completed" + early + after + result + ".");
    }
  }

  private static String after(long millis) {
    return millis < 1_000 ? "" : " after " + Words.time(millis);
  }

  @Override
  public void onRunFailed(Recorded.RunFailed event) {
    say(event.moment(), "The run failed" + after(event.millis()) + ": " + event.message());
  }

  @Override
  public void onRunEnding(Recorded.RunEnding event) {
    String why = event.code() == null ? "was asked to end" : "could not go on";
    String undo =
        event.undo().isEmpty() ? "." : "; first " + steps(event.undo()) + " had to be undone.";
    say(event.moment(), "The run " + why + undo);
  }

  private static String steps(List<Place> places) {
    return Words.list(places.stream().map(Place::node).toList());
  }

  private static String name(Moment moment) {
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
  public void onWrite(Recorded.Written event) {
    if (event.source() == Source.CLIENT && !corrects(event.moment())) {
      Moment at = givenAt;
      if (at != null && !at.run().equals(event.moment().run())) {
        flush();
      }
      givenAt = event.moment().ofRun();
      given.put(event.path(), event.value());
    }
  }

  private boolean corrects(Moment moment) {
    Moment at = corrected;
    return at != null && at.run().equals(moment.run()) && at.seq() == moment.seq();
  }

  @Override
  public void onPause(Recorded.Pause event) {
    Moment moment = event.moment();
    String name = name(moment);
    Long deadline = event.deadline();
    String bound =
        deadline == null ? "" : ", for at most " + Words.time(Math.max(0, deadline - moment.at()));
    switch (event.what()) {
      case ANSWER -> {
        List<String> asked =
            event.questions().stream()
                .map(q -> Words.quoted(q.question()) + " (" + q.field() + ")")
                .toList();
        say(moment, name + " asked " + Words.list(asked) + bound + ".");
      }
      case WIDGET -> {
        Event.Widget widget = event.widget();
        String tool = widget == null ? name : widget.tool();
        String data =
            widget == null || widget.data() == null ? "" : " with " + Words.value(widget.data());
        say(moment, name + " showed " + tool + data + bound + ".");
      }
      case SIGNAL ->
          say(moment, name + " began to wait for the signal " + event.signal() + bound + ".");
      default -> halted = event;
    }
  }

  @Override
  public void onSleep(Recorded.Sleep event) {
    Moment moment = event.moment();
    String time = Words.time(Math.max(0, event.until() - moment.at()));
    say(moment, name(moment) + " went to sleep for " + time + ".");
  }

  @Override
  public void onResume(Recorded.Resume event) {
    Moment moment = event.moment();
    String name = name(moment);
    String waited = after(event.waited());
    switch (event.cause()) {
      case ANSWERED -> {
        boolean widget = event.what() == Recorded.Wait.WIDGET;
        if (!waited.isEmpty()) {
          say(moment, name + (widget ? " was answered" : " had its answers") + waited + ".");
        }
      }
      case SIGNALLED -> say(moment, name + " went on" + waited + ".");
      case WOKEN -> say(moment, name + " woke up" + waited + ".");
      case OVERDUE ->
          stress(moment, name + " waited in vain for " + Words.time(event.waited()) + ".");
      case RETRIED -> say(moment, name + " was tried again" + waited + ".");
      case SKIPPED -> stress(moment, "Somebody took " + name + " as done" + waited + ".");
      case GIVEN_UP -> {}
    }
  }

  @Override
  public void onAnswer(Recorded.Answer event) {
    Moment moment = event.moment();
    String field = event.field();
    String refusal = event.refusal();
    if (refusal != null) {
      stress(
          moment,
          "%s = %s was refused: %s"
              .formatted(field, Words.value(event.given()), Words.quoted(refusal)));
      return;
    }
    List<String> words = new ArrayList<>();
    if (event.normalised() != null && !event.normalised().equals(event.given())) {
      words.add("was taken as " + Words.value(event.normalised()));
    }
    if (!event.sets().isEmpty()) {
      words.add("brought " + Words.values(event.sets()));
    }
    if (!words.isEmpty()) {
      say(moment, field + " " + Words.list(words) + ".");
    }
  }

  @Override
  public void onReset(Recorded.Reset event) {
    corrected = event.moment();
    List<String> to = event.to().stream().map(Narrative::name).toList();
    String back = to.isEmpty() ? "" : "; the run went back to " + Words.list(to);
    stress(event.moment(), "The client corrected " + Words.values(event.corrected()) + back + ".");
  }

  @Override
  public void onMigrated(Recorded.Migrated event) {
    stress(
        event.moment(),
        "The run was carried over from version %d of its flow to version %d."
            .formatted(event.from(), event.to()));
  }

  @Override
  public void onSignal(Recorded.Signal event) {
    String payload = event.payload() == null ? "" : " with " + Words.value(event.payload());
    say(
        event.moment(),
        event.taken()
            ? name(event.moment()) + " took the signal " + event.name() + payload + "."
            : "The signal " + event.name() + " came" + payload + ".");
  }

  @Override
  public void onReminder(Recorded.Reminder event) {
    Moment moment = event.moment();
    if (event.progression() == Progression.DONE) {
      say(moment, "Reminder " + event.number() + " of " + name(moment) + " was sent.");
    } else if (event.failure() != null) {
      String failed = "Reminder %d of %s could not be sent: %s";
      stress(moment, failed.formatted(event.number(), name(moment), event.failure()));
    }
  }

  // --- acting ---------------------------------------------------------------------------------

  @Override
  public void onAttempt(Recorded.Attempt event) {
    if (event.attempt() > 1) {
      say(event.moment(), name(event.moment()) + " began attempt " + event.attempt() + ".");
    }
  }

  @Override
  public void onCommit(Recorded.Commit event) {
    String time = event.millis() < 1_000 ? "" : " in " + Words.time(event.millis());
    String name = name(event.moment());
    say(
        event.moment(),
        event.writes().isEmpty()
            ? name + " was done" + time + "."
            : name + " " + Words.writes(event.writes()) + time + ".");
  }

  @Override
  public void onEmit(Recorded.Emit event) {
    String payload = event.payload() == null ? "" : ": " + Words.value(event.payload());
    say(event.moment(), name(event.moment()) + " told " + event.name() + payload + ".");
  }

  @Override
  public void onTag(Recorded.Tag event) {
    if (!event.added().isEmpty()) {
      say(
          event.moment(),
          name(event.moment()) + " tagged the run " + Words.list(event.added()) + ".");
    }
    if (!event.removed().isEmpty()) {
      String tags = Words.list(event.removed());
      say(event.moment(), name(event.moment()) + " took the tags " + tags + " off the run.");
    }
  }

  @Override
  public void onError(Recorded.Failure event) {
    if (event.recorder() == null) {
      String what = name(event.moment()) + " failed: ";
      stress(event.moment(), what + Words.text(event.message()));
    }
  }

  @Override
  public void onStageRetry(Recorded.StageRetry event) {
    stress(
        event.moment(),
        "%s failed at attempt %d and was to be tried again in %s: %s"
            .formatted(
                name(event.moment()),
                event.attempt(),
                Words.time(event.delay()),
                Words.text(event.message())));
  }

  @Override
  public void onCompensation(Recorded.Compensation event) {
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

  private void expiryHook(Recorded.Compensation event) {
    switch (event.progression()) {
      case BEGUN -> say(event.moment(), "The flow is told that the run expired.");
      case SKIPPED -> stress(event.moment(), "Somebody took the flow as told.");
      default -> say(event.moment(), "The flow was told that the run expired.");
    }
  }

  // --- the way --------------------------------------------------------------------------------

  @Override
  public void onDecision(Recorded.Decision event) {
    Moment moment = event.moment();
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
      List<String> not = tried.stream().map(Narrative::told).toList();
      return "no rule held: " + String.join("; ", not);
    }
    return tried.stream()
        .filter(Event.Tried::matched)
        .map(Narrative::told)
        .findFirst()
        .orElse(rule);
  }

  private static String told(Event.Tried rule) {
    String looks = Words.looks(rule);
    return looks.isEmpty()
        ? Words.quoted(rule.rule())
        : Words.quoted(rule.rule()) + " (" + looks + ")";
  }

  @Override
  public void onSelected(Recorded.Selected event) {
    List<String> held =
        event.tried().stream().filter(Event.Tried::matched).map(Narrative::told).toList();
    say(
        event.moment(),
        "After %s the run chose %s, because %s."
            .formatted(
                name(event.moment()),
                Words.list(event.chosen().stream().map(Narrative::name).toList()),
                held.isEmpty() ? because(null, event.tried()) : String.join("; ", held)));
  }

  @Override
  public void onFork(Recorded.Fork event) {
    List<String> labels = event.branches().stream().map(Event.Head::label).toList();
    String name = name(event.moment());
    if (event.list()) {
      String items = labels.size() == 1 ? "one item" : labels.size() + " items at once";
      say(event.moment(), "%s began for %s.".formatted(name, items));
    } else if (labels.size() > 1) {
      String sentence = "The run went on in %d branches at once: %s.";
      say(event.moment(), sentence.formatted(labels.size(), Words.list(labels)));
    }
  }

  @Override
  public void onJoin(Recorded.Join event) {
    StringBuilder sentence = new StringBuilder(joined(event));
    if (!event.dropped().isEmpty()) {
      sentence.append(" without ").append(Words.list(event.dropped()));
    }
    // That a list's workplace is cleared away is no news.
    List<Write> news =
        event.writes().stream()
            .filter(write -> !event.list() || write.verb() != Write.Verb.DELETE)
            .toList();
    if (!news.isEmpty()) {
      sentence.append(" and ").append(Words.writes(news));
    }
    say(event.moment(), sentence + ".");
  }

  private static String joined(Recorded.Join event) {
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
      default -> "Branches " + Words.list(merged) + " came together";
    };
  }

  @Override
  public void onBranchFailed(Recorded.BranchFailed event) {
    stress(event.moment(), "Branch " + event.label() + " was given up: " + event.message());
  }

  @Override
  public void onSubflowEntry(Recorded.SubflowEntry event) {
    String input = event.input().isEmpty() ? "" : ", given " + Words.values(event.input());
    say(event.moment(), "Sub-flow " + event.subflow() + " began" + input + ".");
  }

  @Override
  public void onSubflowExit(Recorded.SubflowExit event) {
    String gave = event.output().isEmpty() ? "" : " and " + Words.writes(event.output());
    String result = event.result() == null ? "" : " with " + Words.value(event.result());
    say(event.moment(), "Sub-flow " + event.subflow() + " ended" + result + gave + ".");
  }

  @Override
  public void onLoop(Recorded.Loop event) {
    Moment moment = event.moment();
    account(moment).pass(moment.branch(), event.to().node());
    say(moment, "Pass " + event.iteration() + " began at " + name(event.to()) + ".");
  }

  @Override
  public void onBreak(Recorded.Break event) {
    String flow = event.subflow().isEmpty() ? "the run" : "sub-flow " + event.subflow();
    stress(event.moment(), name(event.moment()) + " ended " + flow + ": " + event.reason());
  }
}
