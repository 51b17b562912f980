package io.fermata.flow.event;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.json.PersistentMap;
import io.fermata.flow.json.SharedTrees;
import io.fermata.flow.json.Sizes;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

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

  StateMemory answer(Map<String, JsonNode> values, List<JsonNode> about, long tick) {
    ObjectNode newData = data;
    Map<String, Answer> newAnswers = new LinkedHashMap<>(answers);
    Map<String, Long> newWritten = written;
    for (Map.Entry<String, JsonNode> entry : values.entrySet()) {
      String path = entry.getKey();
      boolean filled = Paths.filled(entry.getValue());
      newData = filled ? Paths.set(newData, path, entry.getValue()) : Paths.delete(newData, path);
      newWritten = PersistentMap.with(newWritten, path, tick);
      if (filled) {
        newAnswers.put(path, new Answer(entry.getValue(), tick, last(accepted, path), about));
      } else {
        newAnswers.keySet().removeIf(answered -> Paths.related(answered, path));
      }
    }
    return new StateMemory(data, newAnswers, accepted, newWritten, left, bytes).data(newData);
  }

  /** Notes that the client was asked for a field and gave nothing. */
  StateMemory leaveOpen(String path, List<JsonNode> about, long tick) {
    Map<String, Answer> newAnswers = new LinkedHashMap<>(answers);
    JsonNode nothing = Json.MAPPER.nullNode();
    newAnswers.put(path, new Answer(nothing, tick, last(accepted, path), about));
    return new StateMemory(data, newAnswers, accepted, written, left, bytes);
  }

  /**
   * Goes back to this memory with the answers that the run has had since, as the client gave them.
   * One that followed an answer accepted since then, in an earlier pass of a loop, is left out: it
   * must not be taken for the answer of that pass.
   */
  StateMemory again(Map<String, Answer> known, long since, long tick) {
    Map<String, Answer> newAnswers = new LinkedHashMap<>(answers);
    newAnswers.replaceAll(
        (path, answer) -> {
          Answer same = known.get(path);
          return same != null && same.tick() == answer.tick() ? same : answer;
        });
    StateMemory merged = new StateMemory(data, newAnswers, accepted, written, left, bytes);
    for (Map.Entry<String, Answer> entry : known.entrySet()) {
      Answer answer = entry.getValue();
      if (answer.tick() > since && answer.earlier() <= since) {
        merged =
            Paths.filled(answer.value())
                ? merged.answer(Map.of(entry.getKey(), answer.value()), answer.about(), tick)
                : merged.leaveOpen(entry.getKey(), answer.about(), tick);
      }
    }
    return merged;
  }

  StateMemory write(String path, ObjectNode newData, long tick) {
    Map<String, Long> newWritten = PersistentMap.with(written, path, tick);
    return new StateMemory(data, answers, accepted, newWritten, left, bytes).data(newData);
  }

  /** What was written in the course of an action or a join, in one go. */
  StateMemory write(List<Write> writes, long tick) {
    StateMemory memory = this;
    for (Write write : writes) {
      memory = memory.write(write.path(), write.applyTo(memory.data), tick);
    }
    return memory;
  }

  /** A value that counts as known for as long as the answers it was made of. */
  StateMemory replace(Write write) {
    return data(write.applyTo(data));
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

  /** Takes over what a branch has learned besides its data. */
  StateMemory join(StateMemory branch) {
    Map<String, Answer> newAnswers = new LinkedHashMap<>(answers);
    branch.answers.forEach((path, answer) -> newAnswers.merge(path, answer, Answer::later));
    return new StateMemory(
        data,
        newAnswers,
        latest(accepted, branch.accepted),
        latest(written, branch.written),
        latest(left, branch.left),
        bytes);
  }

  private static Map<String, Long> latest(Map<String, Long> a, Map<String, Long> b) {
    Map<String, Long> latest = new LinkedHashMap<>(a);
    b.forEach((key, tick) -> latest.merge(key, tick, Math::max));
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

  StateMemory accept(String field, long tick) {
    return new StateMemory(
        data, answers, PersistentMap.with(accepted, field, tick), written, left, bytes);
  }

  /** Whether a field has a value that came after the node was last left. */
  public boolean fresh(String field, String node) {
    return Paths.filled(Paths.get(data, field))
        && last(written, field) > left.getOrDefault(node, 0L);
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
}
