package io.fermata.flow.event;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonTypeName;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.annotation.JsonTypeIdResolver;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.KindNames;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What happened in a run. A run's state is the fold of its events and nothing else, and an event
 * carries all that the fold needs, so a journal can be replayed without the flow's code.
 *
 * <p>Times are milliseconds of the epoch; paths of fields are those of the whole run, with the
 * sub-flow they belong to. Names, those of its kinds included, are part of the journal's format:
 * they never change.
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.CUSTOM, property = "e")
@JsonTypeIdResolver(KindNames.class)
public sealed interface Event extends Fact {
  /** When it happened; 0 where only the events around it say. */
  default long at() {
    return 0;
  }

  /** Where it happened; null for what concerns the whole run. */
  default @Nullable Place place() {
    return null;
  }

  /** A run began, on this version of the flow. */
  record Started(String runId, int version, String fingerprint, String intent, long at)
      implements Event {}

  /**
   * A client gave values, by field path: answers to open questions, or values known early.
   *
   * @param acknowledged the widget without a field that was open, and needs no more than a call
   * @param recipients the only branches that get the value of a field; all get the others
   * @param left the fields of the open questions that the call leaves open; null if there are none
   */
  record Answered(
      Map<String, JsonNode> values,
      @Nullable Place acknowledged,
      long at,
      @Nullable Map<String, List<String>> recipients,
      @Nullable List<String> left)
      implements Event {
    public Answered(Map<String, JsonNode> values, @Nullable Place acknowledged, long at) {
      this(values, acknowledged, at, null, null);
    }
  }

  /** An answer stands, perhaps normalised, perhaps with further fields that follow from it. */
  record Accepted(Place place, String field, @Nullable JsonNode value, Map<String, JsonNode> sets)
      implements Event {}

  /** An answer was refused; its question is open again. */
  record Rejected(Place place, String field, String message) implements Event {}

  /**
   * A list begins without an item that values were given for ahead. They are not taken.
   *
   * @param items how many items it has
   */
  record Misplaced(Place place, List<String> fields, int items) implements Event {}

  /** A client put a question off: it stays open, and is another question from here on. */
  record Postponed(Place place, String field) implements Event {}

  /**
   * A question was passed without an answer.
   *
   * @param value the default that its field takes; null if the field is empty from now on
   */
  record Passed(Place place, String field, @Nullable JsonNode value) implements Event {}

  /** Questions were put, in the words that a recovered run will repeat. */
  record Asked(
      Place place,
      List<Question> questions,
      @Nullable String context,
      @Nullable WaitLimits limits,
      long at)
      implements Event {}

  /** A widget was put. */
  record Shown(Place place, Widget widget, @Nullable WaitLimits limits, long at) implements Event {}

  /**
   * The last caller who waited for the work of the run has gone: its call was answered before the
   * work ended, or was lost with its process. Nobody gets what is put from here on.
   *
   * @param informed whether the caller was answered, with what was open then
   */
  record Unattended(boolean informed, long at) implements Event {}

  /** The run waits for a moment. */
  record Slept(Place place, long until, long at) implements Event {}

  /** The run waits for a signal from outside. */
  record Awaited(Place place, String signal, @Nullable WaitLimits limits, long at)
      implements Event {}

  /** A signal came from outside. It is kept until a node waits for it. */
  record Signalled(String signal, @Nullable JsonNode payload, long at) implements Event {}

  /** A node took the oldest signal of the name that it waits for. */
  record Received(Place place, String signal, @Nullable String field, @Nullable JsonNode payload)
      implements Event {}

  /** The moment that a place waited for has come. */
  record Woken(Place place, long at) implements Event {}

  /** A wait has reached its deadline: the run continues at another node. */
  @JsonTypeName("deadline")
  record DeadlinePassed(Place place, String target, long at) implements Event {}

  /** A reminder is being sent. */
  record Reminding(Place place, int number, int attempt, long at) implements Event {}

  /**
   * A reminder was sent, or could not be.
   *
   * @param failure why it could not be sent
   * @param next when the next one is due
   */
  record Reminded(Place place, int number, @Nullable String failure, @Nullable Long next)
      implements Event {}

  /** An effect begins. A field is named when the effect checks an answer to it. */
  record Attempted(Place place, @Nullable String field, int attempt, long at) implements Event {}

  /** An attempt failed and another will follow. */
  record AttemptFailed(
      Place place, int attempt, ErrorCode code, String message, String detail, long retryAt)
      implements Event {}

  /**
   * An action's writes, all of them.
   *
   * @param reads the fields it read; the empty path stands for the whole state
   * @param emitted the events that it named while it worked
   * @param undoable there is a compensation for it
   * @param ends why its flow ends early; null if it continues
   */
  record Committed(
      Place place,
      List<Write> writes,
      List<String> reads,
      List<Emitted> emitted,
      boolean undoable,
      @Nullable String ends)
      implements Event {}

  /** A step gave the run tags, or took some away. */
  record Tagged(Place place, List<String> added, List<String> removed) implements Event {
    public Tagging tagging() {
      return new Tagging(added, removed);
    }
  }

  /** Something that an action emitted. */
  record Emitted(String name, @Nullable JsonNode payload) implements Fact {
    /** Not for recorders: what a step did to the caller of its flow, a list. */
    private static final String TO_CALLER = "fermata/caller";

    public static Emitted toCaller(List<JsonNode> changes) {
      return new Emitted(TO_CALLER, Json.tree(changes));
    }

    public boolean toCaller() {
      return name.equals(TO_CALLER);
    }
  }

  /** What steps did to the caller of their flow, in the order in which they were journaled. */
  static List<JsonNode> changesOfCaller(List<?> events) {
    List<JsonNode> changes = new ArrayList<>();
    for (Object event : events) {
      if (event instanceof Committed committed) {
        committed.emitted().stream()
            .filter(Emitted::toCaller)
            .forEach(emitted -> Objects.requireNonNull(emitted.payload()).forEach(changes::add));
      }
    }
    return changes;
  }

  /**
   * A decision was taken: which rules were tried, in order, and which way the run goes. Without a
   * target the decision failed.
   */
  record Decided(Place place, List<Tried> tried, List<String> targets) implements Event {
    /** The first of its targets; null if the decision failed. */
    public @Nullable String chosen() {
      return targets.isEmpty() ? null : targets.get(0);
    }

    /** The label of the rule that matched first; null if none did. */
    public @Nullable String rule() {
      return tried.stream().filter(Tried::matched).map(Tried::rule).findFirst().orElse(null);
    }

    /** The labels of all rules that matched: of a fork there may be several. */
    public List<String> rules() {
      return tried.stream().filter(Tried::matched).map(Tried::rule).toList();
    }

    /** What decided, look by look: {@code seats gt 6: 7 (true)}. */
    public List<String> evidence() {
      return tried.stream().flatMap(rule -> rule.seen().stream()).map(Seen::text).toList();
    }
  }

  /**
   * A rule that was tried.
   *
   * @param seen what it looked at, in order
   */
  record Tried(String rule, boolean matched, List<Seen> seen) {}

  /**
   * A look at the state: by a condition, which compares, or by a function, of which only what it
   * read is known. Large containers and long texts are kept as short texts.
   *
   * @param what a field's path, or {@code visits of} a node
   * @param is the value that was there; null if there was none
   * @param op the operator, {@code gt}, and the other field if it compares two: {@code gt limit}
   * @param than what it was compared with; the other field's value if it compares two
   * @param held whether the comparison held
   */
  record Seen(
      String what,
      @Nullable JsonNode is,
      @Nullable String op,
      @Nullable JsonNode than,
      @Nullable Boolean held) {
    /** The other field of a comparison of two; null if there is none. */
    @JsonIgnore
    public @Nullable String otherField() {
      int space = op == null || op.equals("not in") ? -1 : op.indexOf(' ');
      return op == null || space < 0 ? null : op.substring(space + 1);
    }

    private String text() {
      StringBuilder text = new StringBuilder(what);
      if (op != null) {
        text.append(' ').append(op);
      }
      if (than != null) {
        String other = Json.text(than);
        text.append(' ').append(otherField() == null ? other : "(" + other + ")");
      }
      text.append(": ").append(is == null ? "nothing" : Json.text(is));
      return held == null ? text.toString() : text.append(" (" + held + ")").toString();
    }
  }

  /**
   * The run moved from one place to the next.
   *
   * @param asks the next node asks a person, so a correction may come back to it
   */
  record Moved(Place from, Place to, boolean asks, long at) implements Event {
    @Override
    public Place place() {
      return from;
    }
  }

  /**
   * The run continues in several branches at once.
   *
   * @param list the branches are the items of a list
   */
  record Forked(Place place, List<Head> heads, boolean list, long at) implements Event {}

  /**
   * The first place of a branch.
   *
   * @param asks the node asks a person
   * @param item what the branch is for, if it is one of a list
   */
  record Head(String label, Place place, boolean asks, @Nullable JsonNode item) {}

  /** A branch has reached the join and waits for the others. */
  record Arrived(Place place, @Nullable JsonNode result, long at) implements Event {}

  /**
   * A branch is dropped because one of its steps failed.
   *
   * @param undo what was running in it and is to be undone with the rest of it, if anything was
   */
  record BranchFailed(
      Place place, ErrorCode code, String message, long at, @Nullable List<Place> undo)
      implements Event {}

  /**
   * Branches have become one again.
   *
   * @param place where the run forked
   * @param merged the branches that arrived
   * @param dropped the branches that were not waited for
   * @param writes what the merged branches changed, once reduced
   * @param undo what dropped branches did and is to be undone
   * @param to where the run continues; null for the ordinary way out of the node
   * @param ends why the flow ends early, if a branch ended it
   */
  record Joined(
      Place place,
      List<String> merged,
      List<String> dropped,
      List<Write> writes,
      List<Place> undo,
      @Nullable String to,
      long at,
      @Nullable String ends)
      implements Event {}

  /**
   * A sub-flow begins.
   *
   * @param scope where its state lives in the run's
   * @param input what it is given
   * @param kept the fields that the client has answered ahead
   */
  record Opened(Place place, String scope, Map<String, JsonNode> input, List<String> kept, long at)
      implements Event {
    /** The path of the node that mounts it. */
    public String subflow() {
      return place.name().equals(Place.START) ? place.mount() : place.node();
    }
  }

  /** A sub-flow has ended: what of it goes into the state around it; its own state is forgotten. */
  record Closed(Place place, String scope, List<Write> writes, @Nullable JsonNode result, long at)
      implements Event {
    /** The path of the node that mounts it. */
    public String subflow() {
      return place.mount();
    }
  }

  /** An action ended its flow early. */
  record Broken(Place place, String reason, String end) implements Event {
    /** The path of the node that mounts the sub-flow that it ends; "" if it ends the run. */
    public String subflow() {
      return end.substring(0, Math.max(0, end.lastIndexOf('/')));
    }
  }

  /**
   * A place cannot continue by itself.
   *
   * @param message the cause, for clients; how to repair it is added where a client reads it
   * @param field the answer that it is about; null if it is about none
   * @param dropped the signal that the place took and could not keep; null if there is none
   */
  record Stopped(
      Place place,
      Resume resume,
      ErrorCode code,
      String message,
      String detail,
      @Nullable String field,
      @Nullable String dropped,
      long at)
      implements Event {
    public Stopped(
        Place place, Resume resume, ErrorCode code, String message, String detail, long at) {
      this(place, resume, code, message, detail, null, null, at);
    }
  }

  /** Where a stopped place takes up again. */
  enum Resume {
    ENTERING,
    WORKING,
    LEAVING,
    JOINING
  }

  /** A stopped place is retried. */
  record Retried(Place place) implements Event {}

  /**
   * Somebody decided that a step whose outcome is unknown needs no further attempt.
   *
   * @param undoable there is a compensation for it
   */
  record Skipped(Place place, boolean undoable) implements Event {}

  /**
   * Earlier answers were corrected: the run goes back and keeps the other answers.
   *
   * @param to where it goes back to, in each branch that is concerned
   * @param undo the actions behind those places that are to be undone first
   * @param recipients the only branches that get the value of a field; all get the others
   */
  record Reset(
      List<Back> to,
      Map<String, JsonNode> corrected,
      List<Place> undo,
      long at,
      @Nullable Map<String, List<String>> recipients)
      implements Event {}

  /**
   * A place to go back to.
   *
   * @param checkpoint the name of what was known there
   * @param leaving the node there is done, and only its way out is taken again
   */
  record Back(Place place, String checkpoint, boolean leaving) {}

  /**
   * The run was carried over to another version of its flow.
   *
   * @param fingerprint that of the version it is on now; empty on the way to a further one
   * @param nodes the new names of nodes, by their old ones
   * @param fields the new names of fields, by their old ones
   * @param rewrites what else has changed in the state, by the old names of places
   * @param places where the run continues, for each place where it was
   * @param relocated the answers that other nodes ask for than those that got them; null for none
   */
  record Migrated(
      int from,
      int to,
      String fingerprint,
      Map<String, String> nodes,
      Map<String, String> fields,
      List<Rewrite> rewrites,
      List<Carried> places,
      long at,
      @Nullable List<Relocated> relocated)
      implements Event {
    /** The same with other relocated answers. */
    public Migrated relocating(List<Relocated> others) {
      return new Migrated(from, to, fingerprint, nodes, fields, rewrites, places, at, others);
    }

    /** The same with another fingerprint. */
    public Migrated fingerprinted(String other) {
      return new Migrated(from, to, other, nodes, fields, rewrites, places, at, relocated);
    }
  }

  /**
   * A node that asks for an answer that another one got: it counts as left when that was accepted.
   * All names are new ones.
   *
   * @param checkpoint of what the branch knew there; null of what it knows
   */
  record Relocated(String branch, @Nullable String checkpoint, String node, String field) {}

  /**
   * What has changed in one of the states that a run keeps: in what a branch knows, or knew at a
   * checkpoint, or in what was known when an action committed that can be undone.
   */
  record Rewrite(
      String branch, @Nullable String checkpoint, @Nullable Place done, List<Write> writes) {}

  /**
   * A place in the version that a run was carried over to.
   *
   * @param reentered the node is entered, as the one that the run was at is gone
   * @param asks the node that is entered asks a person, so a correction may come back to it
   * @param deadline when its wait expires; null if never
   * @param reminder the next reminder of those who are waited for; null if there is none
   */
  record Carried(
      Place from,
      Place to,
      boolean reentered,
      boolean asks,
      @Nullable Long deadline,
      PlaceState.@Nullable Reminder reminder) {}

  /**
   * The run is a fork of another one: what is before this in its journal happened to that one. What
   * that one was doing is begun again; what it did is not undone here.
   *
   * @param recorded the results of effects that the fork may take from that run
   */
  record ForkedFrom(ForkOrigin origin, List<RecordedResult> recorded, long at) implements Event {
    ForkedFrom named(Renaming names, int to) {
      return new ForkedFrom(
          origin, recorded.stream().map(one -> one.named(names, to)).toList(), at);
    }
  }

  /** The compensation of an action begins. */
  record Undoing(Place place, long at) implements Event {}

  /** An action was undone. */
  record Undone(Place place) implements Event {}

  /**
   * The run is to end, once what it did has been undone.
   *
   * @param code why it fails, or that it has expired; null if somebody cancelled it
   */
  record Ending(@Nullable ErrorCode code, @Nullable String message, List<Place> undo, long at)
      implements Event {}

  /**
   * The run has reached its end.
   *
   * @param reason why it ended early; null if it went all its way
   */
  record Completed(@Nullable JsonNode result, @Nullable String reason, long at) implements Event {}

  record Cancelled(long at) implements Event {}

  /** The run ended because nobody touched it for longer than its flow allows. */
  record Expired(long at) implements Event {}

  /** The run ended with an error. */
  record Failed(ErrorCode code, String message, long at) implements Event {}

  /** Another run was started in the same session before this one ended. */
  record Abandoned(long at) implements Event {}

  /**
   * A question as it was put.
   *
   * @param optional it may be left open
   */
  record Question(
      String field,
      String question,
      @Nullable JsonNode schema,
      List<String> suggestions,
      @Nullable String context,
      @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean optional) {}

  /** A widget as it was put. */
  record Widget(
      String tool,
      @Nullable JsonNode data,
      boolean interactive,
      @Nullable String field,
      @Nullable JsonNode schema) {}

  /** How long a wait may last, and when somebody is to be reminded of it. */
  record WaitLimits(@Nullable Long deadline, @Nullable Long remindAt) {}
}
