package io.fermata.flow.event;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.annotation.JsonTypeIdResolver;
import io.fermata.flow.json.KindNames;
import io.fermata.flow.json.SharedTrees;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a place is busy with. */
@JsonTypeInfo(use = JsonTypeInfo.Id.CUSTOM, property = "p")
@JsonTypeIdResolver(KindNames.class)
public sealed interface Phase {
  /** What a place is or was busy with, be it halted or not. */
  @JsonIgnore
  default Phase busy() {
    return this instanceof Halted halted ? halted.before() : this;
  }

  /** Its node has not begun. */
  record Entering() implements Phase {}

  /** It waits for somebody outside, who may have said something by now. */
  sealed interface Waiting extends Phase {}

  /**
   * It waits for answers.
   *
   * @param seen its questions were put in the course of a call, so that its caller has seen them
   */
  record Asking(boolean seen) implements Waiting {}

  /**
   * It waits for a widget's answer, or for word that the widget was shown.
   *
   * @param seen it was put in the course of a call, so that its caller has seen it
   */
  record Showing(Event.Widget widget, boolean seen) implements Waiting {
    /** Whether a call without an answer is word enough. */
    @JsonIgnore
    public boolean displayOnly() {
      return widget.field() == null;
    }
  }

  /** It waits for a moment. */
  record Sleeping(long until) implements Phase {}

  /** It waits for a signal from outside. */
  record Awaiting(String signal) implements Waiting {}

  /**
   * It waits for an effect, or until a failed one is due again.
   *
   * @param since when the first attempt began
   */
  record Working(@Nullable String field, int attempt, @Nullable Long retryAt, long since)
      implements Phase {
    Working failed(int failed, long retry) {
      return new Working(field, failed, retry, since);
    }

    Working checking(String renamed) {
      return new Working(renamed, attempt, retryAt, since);
    }
  }

  /**
   * It waits for its branches.
   *
   * @param labels all its branches, in the order they were declared
   * @param items what they are for, if they are those of a list: their labels are its indices
   * @param ended those that need no waiting for any more
   */
  record Forked(
      List<String> labels,
      @SharedTrees.Trees @Nullable List<JsonNode> items,
      Map<String, End> ended)
      implements Phase {
    public boolean list() {
      return items != null;
    }

    /** How many of its branches have not ended. */
    public int open() {
      return labels.size() - ended.size();
    }

    Forked end(String label, End end) {
      Map<String, End> more = new LinkedHashMap<>(ended);
      more.put(label, end);
      return new Forked(labels, items, more);
    }

    Forked reopen(String label) {
      Map<String, End> fewer = new LinkedHashMap<>(ended);
      fewer.remove(label);
      return new Forked(labels, items, fewer);
    }
  }

  /**
   * How a branch ended: it arrived at the join, or failed.
   *
   * @param code why it failed; null if it arrived
   */
  record End(@Nullable JsonNode result, @Nullable ErrorCode code, @Nullable String message) {
    @JsonIgnore
    public boolean arrived() {
      return code == null;
    }
  }

  /**
   * Its node is done; the way out is still to be taken.
   *
   * @param to where it leads, if that is settled
   */
  record Leaving(@Nullable String to) implements Phase {}

  /** The sub-flow of a list's item has ended; the list does not know yet. */
  record Returning(@Nullable JsonNode result) implements Phase {}

  /** Its flow ends early; the branches of that flow are still to be left. */
  record Breaking(String reason) implements Phase {}

  /**
   * It cannot continue by itself.
   *
   * @param before what it was busy with
   * @param since when it halted
   */
  record Halted(
      Event.Resume resume,
      ErrorCode code,
      String message,
      @Nullable String field,
      Phase before,
      long since)
      implements Phase {
    /** Whether an answer could not be checked, so that another one can be given. */
    public boolean unchecked() {
      return code == ErrorCode.VALIDATOR_FAILED;
    }

    Halted carried(@Nullable String renamed, Phase busy) {
      return new Halted(resume, code, message, renamed, busy, since);
    }

    Halted later(long millis) {
      return new Halted(resume, code, message, field, before, since + millis);
    }
  }
}
