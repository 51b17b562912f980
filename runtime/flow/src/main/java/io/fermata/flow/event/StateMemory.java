package io.fermata.flow.event;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.PersistentMap;
import io.fermata.flow.json.SharedTrees;
import io.fermata.flow.json.Sizes;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a run has learned: its data, and what is needed to distinguish a fresh answer from an old
 * one. A correction goes back to an earlier memory.
 *
 * @param data the state's values
 * @param answers what the client gave last for each field, before normalisation; a null node where
 *     it left the question open
 * @param accepted when an answer to each question was last accepted
 * @param written when each field was last written, in the run's count of events
 * @param left when each node was last left
 * @param bytes the size of its data as text, which is not stored
 */
public record StateMemory(
    @SharedTrees.Tree ObjectNode data,
    Map<String, Answer> answers,
    Map<String, Long> accepted,
    Map<String, Long> written,
    Map<String, Long> left,
    @JsonIgnore int bytes) {
  /** No text of an object is shorter. */
  private static final int EMPTY_OBJECT = 2;

  public StateMemory {
    accepted = PersistentMap.copyOf(accepted);
    written = PersistentMap.copyOf(written);
    left = PersistentMap.copyOf(left);
    bytes = bytes < EMPTY_OBJECT ? Sizes.of(data) : bytes;
  }

  /**
   * A value as the client gave it.
   *
   * @param tick when it was given
   * @param earlier when an answer of an earlier pass was accepted; 0 if there was none
   * @param about the items of lists that it was given for, the outermost first
   */
  public record Answer(
      @SharedTrees.Tree JsonNode value,
      long tick,
      long earlier,
      @SharedTrees.Trees List<JsonNode> about) {
    /** The later one, or the one of which more is known. */
    Answer later(Answer other) {
      boolean mine = tick == other.tick ? about.size() >= other.about.size() : tick > other.tick;
      return mine ? this : other;
    }

    /** Whether it fits the items of lists that a sub-flow runs for. */
    public boolean isAbout(List<JsonNode> items) {
      int known = Math.min(about.size(), items.size());
      return about.subList(0, known).equals(items.subList(0, known));
    }

    private Answer about(List<JsonNode> items) {
      return items.size() > about.size() ? new Answer(value, tick, earlier, items) : this;
    }
  }

  public static final StateMemory EMPTY =
      new StateMemory(Json.object(), Map.of(), Map.of(), Map.of(), Map.of(), EMPTY_OBJECT);

  private StateMemory data(ObjectNode next) {
    int size = bytes + Sizes.growth(data, next);
    return new StateMemory(next, answers, accepted, written, left, size);
  }

  /** Takes what a client gave; what is not filled is forgotten, with all that is part of it. */
  StateMemory answer(Map<String, JsonNode> values, List<JsonNode> about, long tick) {
    Map<String, Answer> given = new LinkedHashMap<>();
    Set<String> forgotten = new HashSet<>();
    Ticks ticks = Ticks.of(accepted);
    values.forEach(
        (path, value) -> {
          if (Paths.filled(value)) {
            given.put(path, new Answer(value, tick, ticks.last(path), about));
          } else {
            forgotten.add(path);
          }
        });
    return forget(forgotten).give(given, values, tick);
  }

  private StateMemory forget(Set<String> paths) {
    if (paths.isEmpty()) {
      return this;
    }
    Set<String> wholes = new HashSet<>(paths);
    paths.forEach(path -> wholes.addAll(Paths.around(path)));
    Map<String, Answer> left = new LinkedHashMap<>(answers);
    left.keySet()
        .removeIf(
            path -> wholes.contains(path) || Paths.around(path).stream().anyMatch(paths::contains));
    return new StateMemory(data, left, accepted, written, this.left, bytes);
  }

  /**
   * @param values what is written to the data, and is not if it is not filled
   */
  private StateMemory give(Map<String, Answer> given, Map<String, JsonNode> values, long tick) {
    Map<String, Answer> newAnswers = new LinkedHashMap<>(answers);
    newAnswers.putAll(given);
    Map<String, Long> newWritten = written;
    for (String path : values.keySet()) {
      newWritten = PersistentMap.with(newWritten, path, tick);
    }
    return new StateMemory(data, newAnswers, accepted, newWritten, left, bytes)
        .data(Paths.replace(data, values));
  }

  /** Notes that the client was asked for a field and gave nothing. */
  StateMemory leaveOpen(String path, List<JsonNode> about, long tick) {
    JsonNode nothing = Json.MAPPER.nullNode();
    Answer open = new Answer(nothing, tick, last(accepted, path), about);
    return give(Map.of(path, open), Map.of(), tick);
  }

  /**
   * Goes back to this memory with the answers that the run has had since, as the client gave them,
   * and without those that were waiting for their question and are not known any more. One that
   * followed an answer accepted since then, in an earlier pass of a loop, is left out: it must not
   * be taken for the answer of that pass.
   */
  StateMemory again(Map<String, Answer> known, long since, long tick) {
    Map<String, Answer> newAnswers = new LinkedHashMap<>(answers);
    newAnswers.replaceAll(
        (path, answer) -> {
          Answer same = known.get(path);
          return same != null && same.tick() == answer.tick() ? same : answer;
        });
    Ticks ticks = Ticks.of(accepted);
    Map<String, Answer> given = new LinkedHashMap<>();
    Map<String, JsonNode> values = new LinkedHashMap<>();
    answers.forEach(
        (path, answer) -> {
          Answer now = known.get(path);
          if (answer.tick() > ticks.last(path) && (now == null || !Paths.filled(now.value()))) {
            newAnswers.remove(path);
            values.put(path, NullNode.getInstance());
          }
        });
    known.forEach(
        (path, answer) -> {
          if (answer.tick() > since && answer.earlier() <= since) {
            given.put(path, new Answer(answer.value(), tick, ticks.last(path), answer.about()));
            if (Paths.filled(answer.value())) {
              values.put(path, answer.value());
            }
          }
        });
    return new StateMemory(data, newAnswers, accepted, written, left, bytes)
        .give(given, values, tick);
  }

  StateMemory write(String path, ObjectNode newData, long tick) {
    Map<String, Long> newWritten = PersistentMap.with(written, path, tick);
    int size = bytes + Sizes.growth(data, newData);
    return new StateMemory(newData, answers, accepted, newWritten, left, size);
  }

  /** What was written in the course of an action, in one go. */
  StateMemory write(List<Write> writes, long tick) {
    return written(writes, tick).replace(writes);
  }

  /** Notes that something was written, but not what. */
  StateMemory written(List<Write> writes, long tick) {
    Map<String, Long> newWritten = written;
    for (Write write : writes) {
      newWritten = PersistentMap.with(newWritten, write.path(), tick);
    }
    return new StateMemory(data, answers, accepted, newWritten, left, bytes);
  }

  /** Values that count as known for as long as the answers they were made of. */
  StateMemory replace(List<Write> writes) {
    return data(Write.all(data, writes));
  }

  /**
   * Starts the state of a sub-flow from nothing.
   *
   * @param kept what the client has answered ahead
   * @param about the items of lists that the sub-flow runs for, the outermost first
   */
  StateMemory open(
      String scope,
      Map<String, JsonNode> input,
      List<String> kept,
      List<JsonNode> about,
      long tick) {
    ObjectNode newData = Paths.set(data, scope, Json.object());
    Map<String, Answer> newAnswers = new LinkedHashMap<>(answers);
    for (String path : kept) {
      newData = Paths.set(newData, path, Paths.get(data, path));
      newAnswers.computeIfPresent(path, (p, answer) -> answer.about(about));
    }
    StateMemory memory =
        new StateMemory(data, newAnswers, accepted, written, left, bytes).data(newData);
    for (Map.Entry<String, JsonNode> entry : input.entrySet()) {
      memory = memory.set(entry.getKey(), entry.getValue(), tick);
    }
    return memory;
  }

  /** Forgets the state of a sub-flow; what was answered in it is still known to have been. */
  StateMemory close(String scope) {
    return data(Paths.delete(data, scope));
  }

  StateMemory knowing(Map<String, Answer> known) {
    return new StateMemory(data, known, accepted, written, left, bytes);
  }

  /** Takes over when a branch accepted, wrote and left what. */
  StateMemory join(StateMemory branch) {
    return new StateMemory(
        data,
        answers,
        latest(accepted, branch.accepted),
        latest(written, branch.written),
        latest(left, branch.left),
        bytes);
  }

  static Map<String, Long> latest(Map<String, Long> known, Map<String, Long> others) {
    Map<String, Long> latest = known;
    for (Map.Entry<String, Long> other : others.entrySet()) {
      if (other.getValue() > latest.getOrDefault(other.getKey(), Long.MIN_VALUE)) {
        latest = PersistentMap.with(latest, other.getKey(), other.getValue());
      }
    }
    return latest;
  }

  public StateMemory set(String path, JsonNode value, long tick) {
    return write(path, Paths.set(data, path, value), tick);
  }

  /** A normalised value is still the answer that was given: it does not count as a new one. */
  StateMemory normalise(String path, JsonNode value) {
    return data(Paths.set(data, path, value));
  }

  StateMemory leave(String node, long tick) {
    return new StateMemory(
        data, answers, accepted, written, PersistentMap.with(left, node, tick), bytes);
  }

  /** A node asks for what others asked for before: it counts as left when that was accepted. */
  StateMemory relocate(String node, String field) {
    return leave(node, Math.max(left.getOrDefault(node, 0L), accepted(field)));
  }

  StateMemory accept(String field, long tick) {
    return new StateMemory(
        data, answers, PersistentMap.with(accepted, field, tick), written, left, bytes);
  }

  /**
   * Whether a field has a value that came after the node was last left, and after its question was
   * last left open.
   */
  public boolean fresh(String field, String node) {
    Long since = since(field, node);
    Answer answer = answers.get(field);
    return since != null
        && (answer == null || Paths.filled(answer.value()) || answer.tick() < since);
  }

  /** When a field got the value that it has; null if it has none since the node was last left. */
  public @Nullable Long since(String field, String node) {
    if (!Paths.filled(Paths.get(data, field))) {
      return null;
    }
    long since = last(written, field);
    return since > left.getOrDefault(node, 0L) ? Long.valueOf(since) : null;
  }

  /**
   * When an answer to a field, or to what it is or has part of, was last accepted; 0 for never.
   *
   * @param field with {@code *} for any item of a list
   */
  public long accepted(String field) {
    long last = 0;
    for (Map.Entry<String, Long> entry : accepted.entrySet()) {
      if (entry.getValue() > last && Paths.like(field, entry.getKey())) {
        last = entry.getValue();
      }
    }
    return last;
  }

  /** Whether an answer is known here whose question has not accepted it yet. */
  boolean waits(String field) {
    Answer answer = answers.get(field);
    return answer != null && answer.tick() > last(accepted, field);
  }

  /** Whether an answer of some moment was refused or taken back here since. */
  boolean withdrew(String field, long given) {
    return !answers.containsKey(field)
        && (written.getOrDefault(field, 0L) > given
            || Paths.around(field).stream().anyMatch(w -> written.getOrDefault(w, 0L) > given))
        && !Paths.filled(Paths.get(data, field));
  }

  /** Whether the client left the field's question open since the node was last left. */
  public boolean leftOpen(String field, String node) {
    Answer answer = answers.get(field);
    return answer != null
        && !Paths.filled(answer.value())
        && answer.tick() > left.getOrDefault(node, 0L)
        && answer.tick() > last(accepted, field);
  }

  private static long last(Map<String, Long> ticks, String field) {
    long last = 0;
    for (Map.Entry<String, Long> entry : ticks.entrySet()) {
      if (Paths.related(field, entry.getKey())) {
        last = Math.max(last, entry.getValue());
      }
    }
    return last;
  }

  /**
   * The same for many fields.
   *
   * @param within the last tick of what is part of a path
   */
  private record Ticks(Map<String, Long> ticks, Map<String, Long> within) {
    static Ticks of(Map<String, Long> ticks) {
      Map<String, Long> within = new HashMap<>();
      ticks.forEach(
          (path, tick) ->
              Paths.around(path).forEach(whole -> within.merge(whole, tick, Math::max)));
      return new Ticks(ticks, within);
    }

    long last(String field) {
      long last = Math.max(ticks.getOrDefault(field, 0L), within.getOrDefault(field, 0L));
      for (String whole : Paths.around(field)) {
        last = Math.max(last, ticks.getOrDefault(whole, 0L));
      }
      return last;
    }
  }
}
