package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.Write;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Observation.Progression;
import io.fermata.flow.observe.Observation.Source;
import io.fermata.flow.observe.Observation.Wait;
import io.fermata.flow.observe.Observation.Written;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Describes runs in English: what was asked and answered, what steps did, which way the run went
 * and on which values, how long it waited, what failed and what was undone. It remembers its latest
 * runs. Safe to read while it listens.
 */
public final class Narrative implements Recorder {
  private static final int REMEMBERED = 100;

  private record RunKey(String flow, String session, String run) {}

  private final Map<RunKey, RunAccount> accounts = new LinkedHashMap<>();
  private final int remembered;

  /** Whether it says what ordinary exceptions said, which may name internals. */
  private final boolean details;

  /** What the client gives in one call is one sentence. */
  private final Map<String, String> given = new LinkedHashMap<>();

  private @Nullable Occurrence givenAt;

  /** Where a correction was reported, which is no second gift. */
  private @Nullable Occurrence corrected;

  /** A halt, reported once it is clear that the run does not continue without the step. */
  private @Nullable Occurrence halted;

  public Narrative() {
    this(REMEMBERED);
  }

  /** Remembers so many runs. */
  public Narrative(int runs) {
    this(runs, true);
  }

  private Narrative(int runs, boolean details) {
    this.remembered = runs;
    this.details = details;
  }

  /**
   * Remembers so many runs, and leaves out what is for operators: of a failure it says what a
   * client may read.
   */
  public static Narrative forClients(int runs) {
    return new Narrative(runs, false);
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
    if (continuesWithout(event)) {
      halted = null;
    }
    if (!(event.fact() instanceof Written written && written.source() == Source.CLIENT)) {
      flush();
    }
    event.to(this);
  }

  private boolean continuesWithout(Observation event) {
    boolean abandons =
        event.fact() instanceof Event.BranchFailed || event.fact() instanceof Event.Ending;
    return abandons && halted != null && halted.run().equals(event.moment().run());
  }

  private RunAccount account(Occurrence at) {
    RunKey key = new RunKey(at.flow(), at.session(), at.run());
    RunAccount account = accounts.computeIfAbsent(key, k -> new RunAccount());
    if (accounts.size() > remembered) {
      accounts.remove(accounts.keySet().iterator().next());
    }
    return account;
  }

  private void say(Occurrence at, String sentence) {
    account(at).add(at, sentence, false);
  }

  private void stress(Occurrence at, String sentence) {
    account(at).add(at, sentence, true);
  }

  private void flush() {
    if (halted != null) {
      stress(halted, name(halted) + " halted until somebody retries it.");
      halted = null;
    }
    if (givenAt != null) {
      say(givenAt, "The client gave " + Phrases.list(List.copyOf(given.values())) + ".");
      given.clear();
      givenAt = null;
    }
  }

  // --- the run --------------------------------------------------------------------------------

  @Override
  public void onRunStart(Occurrence at, Observation.RunStart event) {
    String intent = event.intent().isBlank() ? "" : ", because: " + Phrases.quoted(event.intent());
    String sentence = "Run %s of %s, version %s, began%s.";
    say(at, sentence.formatted(at.run(), at.flow(), event.version(), intent));
  }

  @Override
  public void onRunEnd(Occurrence at, Observation.RunEnd event) {
    String early = event.reason() == null ? "" : " early (" + Phrases.text(event.reason()) + ")";
    String became =
        switch (event.status()) {
          case CANCELLED -> "was cancelled";
          case EXPIRED -> "expired";
          case ABANDONED -> "was left for another one";
          default -> "completed" + early;
        };
    say(at, "The run " + became + after(at) + Phrases.with(event.result()) + ".");
  }

  private static String after(Occurrence at) {
    return at.took() < 1_000 ? "" : " after " + Phrases.time(at.took());
  }

  @Override
  public void onRunFailed(Occurrence at, Event.Failed event) {
    say(at, "The run failed" + after(at) + ": " + event.message());
  }

  @Override
  public void onRunEnding(Occurrence at, Event.Ending event) {
    ErrorCode code = event.code();
    boolean expires = code == ErrorCode.RUN_EXPIRED;
    String failed = expires ? "had waited too long" : "could not continue";
    String why = code == null ? "was asked to end" : failed;
    String steps =
        Phrases.list(
            event.undo().stream()
                .filter(Place::declared)
                .map(place -> name(place.node()))
                .toList());
    String undo = steps.isEmpty() ? "." : "; first " + steps + " had to be undone.";
    say(at, "The run " + why + undo);
  }

  private static String name(Occurrence at) {
    return name(at.node());
  }

  /** What a node is called in its flow. */
  private static String name(String node) {
    String own = node.substring(node.lastIndexOf('/') + 1);
    return own.equals(Flow.START) ? "its start" : own.equals(Flow.END) ? "its end" : own;
  }

  // --- asking and waiting ---------------------------------------------------------------------

  @Override
  public void onWrite(Occurrence at, Written event) {
    if (event.source() == Source.CLIENT && !corrects(at)) {
      if (givenAt != null && !givenAt.run().equals(at.run())) {
        flush();
      }
      givenAt = at.ofRun();
      String path = event.write().path();
      JsonNode value = event.write().value();
      given.put(path, value == null ? "no " + path : path + " = " + Phrases.value(value));
    }
  }

  private boolean corrects(Occurrence at) {
    return corrected != null && corrected.run().equals(at.run()) && corrected.seq() == at.seq();
  }

  @Override
  public void onPause(Occurrence at, Observation.Pause event) {
    if (event.what() == Wait.REPAIR) {
      halted = at;
      return;
    }
    Long until = event.until();
    String time = until == null ? "" : Phrases.time(Math.max(0, until - at.at()));
    String bound = until == null || event.what() == Wait.TIME ? "" : ", for at most " + time;
    say(at, name(at) + " " + began(event, time) + bound + ".");
  }

  private static String began(Observation.Pause event, String time) {
    if (event.what() == Wait.ANSWER) {
      return "asked " + Phrases.list(event.questions().stream().map(Narrative::asked).toList());
    } else if (event.widget() != null) {
      return "showed " + event.widget().tool() + Phrases.with(event.widget().data());
    }
    return event.what() == Wait.TIME
        ? "went to sleep for " + time
        : "began to wait for the signal " + event.signal();
  }

  private static String asked(Event.Question question) {
    return Phrases.quoted(question.question()) + " (" + question.field() + ")";
  }

  @Override
  public void onResume(Occurrence at, Observation.Resume event) {
    String name = name(at);
    String after = after(at);
    switch (event.cause()) {
      case ANSWERED -> {
        String answered = event.what() == Wait.WIDGET ? " was answered" : " had its answers";
        if (!after.isEmpty()) {
          say(at, name + answered + after + ".");
        }
      }
      case SIGNALLED -> say(at, name + " resumed" + after + ".");
      case WOKEN -> say(at, name + " woke up" + after + ".");
      case DEADLINE -> stress(at, name + " waited in vain for " + Phrases.time(at.took()) + ".");
      case RETRIED -> say(at, name + " was tried again" + after + ".");
      case SKIPPED -> stress(at, "Somebody marked " + name + " as done" + after + ".");
      case ABANDONED -> {}
    }
  }

  @Override
  public void onAnswer(Occurrence at, Observation.Answer event) {
    String field = event.field();
    if (event.refusal() != null) {
      String given = Phrases.value(event.given());
      stress(at, field + " = " + given + " was refused: " + Phrases.quoted(event.refusal()));
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
      say(at, field + " " + Phrases.list(words) + ".");
    }
  }

  @Override
  public void onPassed(Occurrence at, Event.Passed event) {
    String took =
        event.value() == null ? "" : " and took its default, " + Phrases.value(event.value());
    say(at, event.field() + " was left open" + took + ".");
  }

  @Override
  public void onReset(Occurrence at, Event.Reset event) {
    corrected = at;
    List<String> to = event.to().stream().map(back -> name(back.place().node())).toList();
    String back = to.isEmpty() ? "" : "; the run went back to " + Phrases.list(to);
    stress(at, "The client corrected " + Phrases.values(event.corrected()) + back + ".");
  }

  @Override
  public void onMigrated(Occurrence at, Event.Migrated event) {
    String sentence = "The run was carried over from version %s of its flow to version %s.";
    stress(at, sentence.formatted(event.from(), event.to()));
  }

  @Override
  public void onForkedFrom(Occurrence at, Observation.Fork event) {
    ForkOrigin from = event.origin();
    String by = from.by().isEmpty() ? "" : " by " + from.by();
    String mode = from.mode().name().toLowerCase(Locale.ROOT).replace('_', ' ');
    String sentence =
        "This is a fork of run %s at entry %s, made%s, %s. What is above happened there.";
    stress(at, sentence.formatted(from.runId(), from.entry(), by, mode));
  }

  @Override
  public void onSignal(Occurrence at, Observation.Signal event) {
    String signal = "signal " + event.name();
    String came = event.taken() ? name(at) + " took the " + signal : "The " + signal + " came";
    say(at, came + Phrases.with(event.payload()) + ".");
  }

  @Override
  public void onReminder(Occurrence at, Observation.Reminder event) {
    String reminder = "Reminder " + event.number() + " of " + name(at);
    if (event.progression() == Progression.DONE) {
      say(at, reminder + " was sent.");
    } else if (event.failure() != null) {
      stress(at, reminder + " could not be sent: " + event.failure());
    }
  }

  // --- acting ---------------------------------------------------------------------------------

  @Override
  public void onAttempt(Occurrence at, Event.Attempted event) {
    if (event.attempt() > 1) {
      say(at, name(at) + " began attempt " + event.attempt() + ".");
    }
  }

  @Override
  public void onCommit(Occurrence at, Event.Committed event) {
    String time = at.took() < 1_000 ? "" : " in " + Phrases.time(at.took());
    String did = event.writes().isEmpty() ? "was done" : Phrases.writes(event.writes());
    say(at, name(at) + " " + did + time + ".");
  }

  @Override
  public void onEmit(Occurrence at, Event.Emitted event) {
    String payload = event.payload() == null ? "" : ": " + Phrases.value(event.payload());
    say(at, name(at) + " emitted " + event.name() + payload + ".");
  }

  @Override
  public void onTag(Occurrence at, Event.Tagged event) {
    if (!event.added().isEmpty()) {
      say(at, name(at) + " tagged the run " + Phrases.list(event.added()) + ".");
    }
    if (!event.removed().isEmpty()) {
      String tags = Phrases.list(event.removed());
      say(at, name(at) + " took the tags " + tags + " off the run.");
    }
  }

  @Override
  public void onError(Occurrence at, Observation.Failure event) {
    if (event.recorder() == null) {
      stress(at, name(at) + " failed: " + because(event.message(), event.detail()));
    }
  }

  /** A {@link io.fermata.flow.action.StepException} says the same in both. */
  private String because(String message, String detail) {
    String cause = Phrases.text(message);
    return !details || detail.isEmpty() || detail.contains(message)
        ? cause
        : cause + " (" + Phrases.text(detail) + ")";
  }

  @Override
  public void onStageRetry(Occurrence at, Event.AttemptFailed event) {
    String delay = Phrases.time(Math.max(0, event.retryAt() - at.at()));
    String failed = name(at) + " failed at attempt " + event.attempt();
    String cause = because(event.message(), event.detail());
    stress(at, failed + " and was to be tried again in " + delay + ": " + cause);
  }

  @Override
  public void onCompensation(Occurrence at, Observation.Compensation event) {
    // What undoes no step notifies the flow that its run expired.
    boolean step = at.here().declared();
    String name = name(at);
    switch (event.progression()) {
      case BEGUN ->
          say(
              at,
              step
                  ? "The undoing of " + name + " began."
                  : "The run expired; notifying the flow began.");
      case SKIPPED ->
          stress(at, "Somebody marked " + (step ? name + " as undone." : "the flow as notified."));
      default ->
          say(at, step ? name + " was undone." : "The flow was notified that the run expired.");
    }
  }

  // --- the way --------------------------------------------------------------------------------

  @Override
  public void onDecision(Occurrence at, Event.Decided event) {
    String chosen = event.chosen();
    if (chosen == null) {
      stress(at, "Which way leads out of " + name(at) + " could not be decided.");
      return;
    }
    say(at, "After " + name(at) + " the run went to " + name(chosen) + because(event, 1) + ".");
  }

  @Override
  public void onSelected(Occurrence at, Event.Decided event) {
    String chosen = Phrases.list(event.targets().stream().map(Narrative::name).toList());
    say(
        at,
        "After " + name(at) + " the run chose " + chosen + because(event, Integer.MAX_VALUE) + ".");
  }

  /** The first rules that held; if none did, those that did not. */
  private static String because(Event.Decided event, int most) {
    boolean none = event.rule() == null;
    String words =
        event.tried().stream()
            .filter(rule -> none || rule.matched())
            .limit(none ? Integer.MAX_VALUE : most)
            .map(Narrative::describe)
            .collect(Collectors.joining("; "));
    return ", because " + (none ? "no rule held: " : "") + words;
  }

  private static String describe(Event.Tried rule) {
    String looks = Phrases.looks(rule);
    return '"' + Phrases.text(rule.rule()) + '"' + (looks.isEmpty() ? "" : " (" + looks + ")");
  }

  @Override
  public void onFork(Occurrence at, Event.Forked event) {
    List<String> labels = event.heads().stream().map(Event.Head::label).toList();
    if (event.list()) {
      String items = labels.size() == 1 ? "one item" : labels.size() + " items at once";
      say(at, name(at) + " began for " + items + ".");
    } else if (labels.size() > 1) {
      String branches = labels.size() + " branches at once: " + Phrases.list(labels);
      say(at, "The run continued in " + branches + ".");
    }
  }

  @Override
  public void onJoin(Occurrence at, Event.Joined event, boolean list) {
    String joined = list ? items(at, event.merged()) : branches(at, event);
    String dropped = event.dropped().isEmpty() ? "" : " without " + Phrases.list(event.dropped());
    // That a list's workplace is cleared away is no news.
    List<Write> news =
        event.writes().stream()
            .filter(write -> !list || write.verb() != Write.Verb.DELETE)
            .toList();
    say(at, joined + dropped + Phrases.and(news) + ".");
  }

  private static String items(Occurrence at, List<String> merged) {
    String items =
        merged.size() == 1 ? "its item" : merged.isEmpty() ? "no item" : merged.size() + " items";
    return name(at) + " is done with " + items;
  }

  private static String branches(Occurrence at, Event.Joined event) {
    List<String> merged = event.merged();
    return switch (merged.size()) {
      case 0 ->
          "No branch of " + name(at) + (event.dropped().isEmpty() ? " was taken" : " is left");
      case 1 -> "Branch " + merged.get(0) + " ended";
      default -> "Branches " + Phrases.list(merged) + " joined";
    };
  }

  @Override
  public void onBranchFailed(Occurrence at, Event.BranchFailed event) {
    stress(at, "Branch " + event.place().label() + " was dropped: " + event.message());
  }

  @Override
  public void onSubflowEntry(Occurrence at, Event.Opened event) {
    String input = event.input().isEmpty() ? "" : ", given " + Phrases.values(event.input());
    say(at, "Sub-flow " + event.subflow() + " began" + input + ".");
  }

  @Override
  public void onSubflowExit(Occurrence at, Event.Closed event) {
    String gave = Phrases.with(event.result()) + Phrases.and(event.writes());
    say(at, "Sub-flow " + event.subflow() + " ended" + gave + ".");
  }

  @Override
  public void onLoop(Occurrence at, Event.Moved event, int pass) {
    Place to = event.to();
    account(at).pass(at.branch(), to.node());
    say(at, "Pass " + pass + " began at " + name(to.node()) + ".");
  }

  @Override
  public void onBreak(Occurrence at, Event.Broken event) {
    String flow = event.subflow().isEmpty() ? "the run" : "sub-flow " + event.subflow();
    stress(at, name(at) + " ended " + flow + ": " + event.reason());
  }
}
