package io.fermata.testkit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.Secrets;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.json.Texts;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.call.OutcomeJson;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The methods that both probes share: calls of a run, and expectations of each call. They judge the
 * body of the reply, as a client gets it.
 *
 * <p>Values are given in pairs of a field and its value, {@code "name", "Ann", "seats", 3}; a field
 * inside a nested record is written {@code "driver.name"}.
 *
 * @param <P> the probe itself
 */
public abstract sealed class Probe<P extends Probe<P>> permits FlowProbe, SessionProbe {
  /** Who calls, unless a test says otherwise. */
  static final String TESTER = "tester";

  final Steps steps;
  private final List<String> calls = new ArrayList<>();
  final Secrets hidden;
  private @Nullable ObjectNode body;

  /**
   * @param hidden what is kept out of the messages of failed expectations
   */
  Probe(Steps steps, Secrets hidden) {
    this.steps = steps;
    this.hidden = hidden;
  }

  // --- steps ------------------------------------------------------------------------------------

  /**
   * These attempts of a step fail instead of running: {@code failAt("reserve", 1, 2)}. Its
   * compensation is planned by the name {@code "reserve~undo"}, here and below.
   */
  public P failAt(String node, int... attempts) {
    steps.plan(node, Steps.Fate.FAIL, attempts);
    return self();
  }

  /** These attempts of a step never end, so that their timeout passes. */
  public P hangAt(String node, int... attempts) {
    steps.plan(node, Steps.Fate.HANG, attempts);
    return self();
  }

  /** The host is killed when these attempts have taken effect but are not yet journaled. */
  public P crashAt(String node, int... attempts) {
    steps.plan(node, Steps.Fate.CRASH, attempts);
    return self();
  }

  /**
   * The test decides what an action does: it is not run, and these values are written in its place,
   * each to a field of the flow that the action belongs to.
   */
  public P instead(String node, Object... writes) {
    steps.instead(node, writes);
    return self();
  }

  /**
   * Like {@link #instead(String, Object...)}, with values that depend on the effect. What the
   * function throws lets the attempt fail as if the action threw it; a field that the flow does not
   * have fails the test.
   *
   * @param writes returns pairs of a field and its value
   */
  public P instead(String node, Function<AskedEffect, Object[]> writes) {
    steps.instead(node, writes);
    return self();
  }

  /** The effects that were asked for, in their order, whether they were performed or not. */
  public List<AskedEffect> effects() {
    return steps.asked();
  }

  // --- calls ------------------------------------------------------------------------------------

  /** Starts a run; the pairs are the values that the user has already given. */
  public abstract P start(String intent, Object... said);

  /** Answers open questions, and others if given. */
  public abstract P answer(Object... answers);

  /**
   * Continues without an answer: repeats the open question, passes it where nothing that is open is
   * required, or tries a failed step again.
   */
  public abstract P again();

  /** Corrects earlier answers. */
  public abstract P reset(Object... corrections);

  public abstract P cancel();

  /** Sends a signal to the run. */
  public abstract P signal(String name, @Nullable Object payload);

  // --- expectations -----------------------------------------------------------------------------

  /** Exactly these fields are open, in this order. */
  public P asks(String... fields) {
    return check(
        () -> steps.requireFields(fields),
        hasStatus("interrupt") && fields().equals(List.of(fields)),
        "the run to ask for " + only(", ", "field", fields));
  }

  /** Of the open questions exactly these may be left open. */
  public P optional(String... fields) {
    return check(
        () -> steps.requireFields(fields),
        body != null
            && questions().stream()
                .filter(question -> question.path("optional").asBoolean())
                .map(question -> question.path("field").asText())
                .toList()
                .equals(List.of(fields)),
        "questions of which " + only(", ", "field", fields) + " may be left open");
  }

  /** The call failed, and exactly these fields are still open. */
  public P stillAsks(String... fields) {
    return check(
        () -> steps.requireFields(fields),
        failed() && !questions().isEmpty() && fields().equals(List.of(fields)),
        "an error that asks again for " + only(", ", "field", fields));
  }

  /** The open question of a field has this text. */
  public P says(String field, String question) {
    return check(
        () -> steps.requireFields(field),
        questions().stream()
            .filter(open -> open.path("field").asText().equals(field))
            .findFirst()
            .filter(open -> open.path("question").asText().equals(question))
            .isPresent(),
        "the question for " + field + " to be \"" + question + "\"");
  }

  /** The one open question offers exactly these answers. */
  public P suggests(String... answers) {
    List<JsonNode> open = questions();
    return check(
        open.size() == 1 && Story.suggestions(open.get(0)).equals(List.of(answers)),
        "one question that suggests " + only(", ", "answer", answers));
  }

  /** A widget is open that this display tool renders. */
  public P shows(String tool) {
    return check(at("tool").asText().equals(tool), "the widget " + tool);
  }

  /** The data of the open widget has this value. */
  public P withData(String path, @Nullable Object value) {
    return check(
        at("tool").isTextual() && Trees.same(Trees.at(at("data"), path), value),
        "a widget with " + path + " = " + Trees.text(value));
  }

  /** The run has reached its end. */
  public P completes() {
    return check(completed(), "the run to complete");
  }

  /** The run has reached its end, and its result passes these checks. */
  public P completes(Consumer<JsonNode> result) {
    completes();
    try {
      result.accept(at("result"));
    } catch (AssertionError | RuntimeException e) {
      throw new AssertionError(
          story("a result that passes the test's check: " + e.getMessage()), e);
    }
    return self();
  }

  /** The run has reached its end, and its result holds these values. */
  public P completesWith(Object... pairs) {
    completes();
    Trees.each(
        pairs,
        (path, value) ->
            check(
                Trees.same(Trees.at(at("result"), path), value),
                "a result with " + path + " = " + Trees.text(value)));
    return self();
  }

  /** The run waits for what is named: {@code time}, or {@code signal} and its name. */
  public P waitsFor(String what) {
    return check(
        hasStatus(OutcomeJson.WAITING) && at("waitsFor").asText().equals(what),
        "the run to wait for " + what);
  }

  /** The call cancelled the run. */
  public P cancels() {
    return check(cancelled(), "the run to be cancelled");
  }

  /** A validator rejected the answer to a field, with this message. */
  public P rejects(String field, String message) {
    return check(
        () -> steps.requireFields(field),
        violations(ErrorCode.ANSWER_REJECTED)
            .anyMatch(
                violation ->
                    violation.path("field").asText().equals(field)
                        && violation.path("message").asText().equals(message)),
        "the answer to " + field + " to be rejected with \"" + message + "\"");
  }

  /** The call was refused because of invalid values for exactly these fields. */
  public P refuses(String... fields) {
    Set<String> violated =
        violations(ErrorCode.INVALID_UPDATES)
            .map(violation -> violation.path("field").asText())
            .collect(Collectors.toSet());
    return check(
        violated.equals(Set.of(fields)),
        "the values of " + only(", ", "field", fields) + " to be refused");
  }

  public P fails(ErrorCode code) {
    return fails(code.wireName());
  }

  /** The call failed with this code, by its wire name. */
  public P fails(String code) {
    return check(failedWith(code), "the error " + code);
  }

  /** The error message contains this text. */
  public P saying(String words) {
    return check(
        failed() && at("error").asText().contains(words), "an error that says \"" + words + "\"");
  }

  /** The call entered exactly these nodes, in this order. */
  public P visited(String... nodes) {
    return check(
        () ->
            Arrays.stream(nodes)
                .filter(node -> !node.equals(Flow.END))
                .forEach(steps::requirePlace),
        body != null && visits().equals(List.of(nodes)),
        "the call to visit " + only(" → ", "node", nodes));
  }

  private static String only(String separator, String kind, String... names) {
    return names.length == 0
        ? "no " + kind
        : String.join(separator, names) + " and no other " + kind;
  }

  /**
   * A field of the state has this value; null means that it has none. A host keeps the state of a
   * run until it ends.
   */
  public P stateHas(String path, @Nullable Object value) {
    ObjectNode data = data();
    JsonNode found = Trees.at(data, path);
    if (found.isMissingNode()) {
      steps.requireFields(path);
    }
    return check(
        data != null && Trees.same(found, value),
        "the state to hold " + path + " = " + Trees.text(value));
  }

  /** The body of the reply to the last call, as a client gets it. */
  public ObjectNode body() {
    if (body == null) {
      throw new AssertionError(
          calls.isEmpty()
              ? "Nothing was called yet; begin with start(…)"
              : "Nothing was called since then; continue with again() or status()");
    }
    return body;
  }

  // --- for the two probes ---------------------------------------------------------------------

  abstract P self();

  /** The state's values; null if they are not known. */
  abstract @Nullable ObjectNode data();

  /** The nodes that the last call entered. */
  abstract List<String> visits();

  /** What happened, for the message of a failed expectation. */
  abstract List<String> history();

  /** What the author's code last threw in the last call; null if nothing is known of it. */
  abstract @Nullable Throwable thrown();

  boolean completed() {
    return hasStatus("complete") && !cancelled();
  }

  private boolean cancelled() {
    return at("cancelled").asBoolean();
  }

  P called(String call, ObjectNode next) {
    calls.add(call);
    return resultsIn(next);
  }

  /** Another script begins. */
  void beginsAgain() {
    calls.clear();
    body = null;
    steps.forget();
  }

  /** What the last call returned may be otherwise now. */
  P outdated() {
    body = null;
    return self();
  }

  P resultsIn(ObjectNode next) {
    steps.requireNoMistake();
    body = next;
    return self();
  }

  /**
   * What holds names nothing wrongly: a run may be of another version of the flow.
   *
   * @param named refuses names that the flow does not have
   */
  private P check(Runnable named, boolean holds, String expected) {
    if (!holds) {
      named.run();
    }
    return check(holds, expected);
  }

  P check(boolean holds, String expected) {
    steps.requireNoMistake();
    if (!holds) {
      throw new AssertionError(story(expected), thrown());
    }
    return self();
  }

  String story(String expected) {
    StringBuilder story = new StringBuilder("Expected ").append(expected).append(',');
    String called = "nothing was called " + (calls.isEmpty() ? "yet" : "since then");
    story.append("\nbut ").append(body == null ? called : Story.of(body));
    story.append("\n  call     ").append(calls.isEmpty() ? "-" : calls.get(calls.size() - 1));
    story.append("\n  visited  ").append(visits().isEmpty() ? "-" : String.join(" → ", visits()));
    ObjectNode data = data();
    story
        .append("\n  state    ")
        .append(data == null ? "-" : Texts.shortened(data.toString(), 400));
    story.append("\n  before   ");
    List<String> lines = history();
    int skipped = Math.max(0, lines.size() - Story.LINES);
    if (skipped > 0) {
      story.append("… ").append(skipped).append(" more, then");
    }
    lines.stream().skip(skipped).forEach(line -> story.append("\n    ").append(line));
    return hidden.masked(story.toString());
  }

  /** Keeps the values that secret fields have in a recorded run out of what a test prints. */
  void hides(Flow<?> flow, RunJournal recorded) {
    recorded.events().forEach(event -> hidden.learn(flow.secretFields(), event));
  }

  private JsonNode at(String name) {
    return body == null ? MissingNode.getInstance() : body.path(name);
  }

  private boolean hasStatus(String status) {
    return at("status").asText().equals(status);
  }

  private boolean failed() {
    return hasStatus("error");
  }

  private boolean failedWith(String code) {
    return failed() && at("code").asText().equals(code);
  }

  private Stream<JsonNode> violations(ErrorCode code) {
    return failedWith(code.wireName()) ? at("violations").valueStream() : Stream.empty();
  }

  private List<JsonNode> questions() {
    return body == null ? List.of() : Story.questions(body);
  }

  private List<String> fields() {
    return questions().stream().map(question -> question.path("field").asText()).toList();
  }

  static String call(String action, Object... pairs) {
    return pairs.length == 0 ? action : action + " " + Trees.of(pairs);
  }

  static String startCall(String intent, Object... pairs) {
    return call("start \"" + intent + "\"", pairs);
  }

  static String list(Object... values) {
    return Arrays.stream(values).map(String::valueOf).collect(Collectors.joining(", "));
  }
}
