package io.fermata.session.journal;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.model.Usage;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.RequestDigest;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.KindNames;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.session.Golden;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The format of a thread's journal is a promise, as that of a run's is. */
class ThreadFormatTest {
  private final JournalSerializer serializer = new JournalSerializer();

  /** One of every kind of event, with every part filled. */
  private static Entry<ThreadEvent> turn() throws Exception {
    List<ThreadEvent> events = new ArrayList<>();
    for (Class<?> kind : kinds(ThreadEvent.class)) {
      events.add((ThreadEvent) sample(kind, "event"));
    }
    return Entry.of(7, 8, Entry.Origin.caller("ann"), events).waking(new Entry.Wake(9L));
  }

  private static List<Class<?>> kinds(Class<?> sealed) {
    return KindNames.of(sealed).values().stream()
        .sorted(Comparator.comparing(Class::getName))
        .toList();
  }

  /** A value of a type, with every part filled. */
  private static Object sample(Type type, String name) throws Exception {
    if (type instanceof ParameterizedType of) {
      Type[] parts = of.getActualTypeArguments();
      if (of.getRawType() == Map.class) {
        return parts[1] instanceof Class<?> values && values.isSealed()
            ? oneOfEach(values)
            : Map.of(name, sample(parts[1], name));
      }
      Object one = sample(parts[0], name);
      return of.getRawType() == Set.class ? Set.of(one) : List.of(one);
    } else if (type == String.class) {
      return name;
    } else if (type == long.class || type == Long.class) {
      return 1_780_000_000_000L;
    } else if (type == int.class || type == Integer.class) {
      return 3;
    } else if (type == boolean.class || type == Boolean.class) {
      return true;
    } else if (type == byte[].class) {
      return new byte[] {1, 2, 3};
    } else if (type == BigDecimal.class) {
      return new BigDecimal("0.25");
    } else if (type == JsonNode.class) {
      return Json.tree(Map.of("x", 1));
    }
    Class<?> kind = (Class<?>) type;
    if (kind.isSealed()) {
      return record(kinds(kind).get(0));
    }
    return kind.isEnum() ? kind.getEnumConstants()[0] : record(kind);
  }

  private static Map<String, Object> oneOfEach(Class<?> sealed) throws Exception {
    Map<String, Object> each = new LinkedHashMap<>();
    for (Class<?> kind : kinds(sealed)) {
      each.put(kind.getSimpleName(), record(kind));
    }
    return each;
  }

  private static Object record(Class<?> kind) throws Exception {
    RecordComponent[] components = kind.getRecordComponents();
    Class<?>[] types = new Class<?>[components.length];
    Object[] values = new Object[components.length];
    for (int i = 0; i < components.length; i++) {
      types[i] = components[i].getType();
      values[i] = sample(components[i].getGenericType(), components[i].getName());
    }
    var constructor = kind.getDeclaredConstructor(types);
    constructor.setAccessible(true);
    return constructor.newInstance(values);
  }

  private static JsonNode tree(Object written) throws Exception {
    return JournalSerializer.tree(JournalSerializer.cbor(written));
  }

  private Object read(Object written) throws Exception {
    return serializer.fromBinary(serializer.toBinary(written), serializer.manifest(written));
  }

  @Test
  void everyKindOfEventHasWords() throws Exception {
    List<ThreadEvent> events = turn().events();
    ThreadJournal journal =
        new ThreadJournal("a", "t1", List.of(new JournalEntry<>(1, 8, "caller", "ann", events)));

    assertThat(journal.narrativeWithSecrets().lines().skip(1))
        .hasSize(events.size())
        .noneMatch(line -> line.startsWith("  {"));
  }

  @Test
  void whatAModelWasAskedTakesAtMostThirtyBytesOfAStep() {
    Message message = Message.assistant("Hi").placed("m-s1", 1, 0, null);
    ThreadEvent.StepLog log =
        new ThreadEvent.StepLog("s1", "m", "stop", Usage.ZERO, List.of(), 1, 2, null, null);
    ThreadEvent.StepEnded silent = new ThreadEvent.StepEnded("", message, List.of(), log);
    ThreadEvent.StepEnded asked =
        silent.asking(
            new RequestDigest(
                Integer.MIN_VALUE,
                new RequestDigest.Part(200, Integer.MAX_VALUE),
                new RequestDigest.Part(20, Integer.MIN_VALUE)));

    assertThat(bytes(asked) - bytes(silent)).isBetween(20, 30);
  }

  private static int bytes(ThreadEvent event) {
    return JournalSerializer.cbor(Entry.of(1, 2, Entry.Origin.caller("ann"), List.of(event)))
        .length;
  }

  @Test
  void everyKindOfEventIsReadBackAsItWasWritten() throws Exception {
    assertThat(tree(read(turn()))).isEqualTo(tree(turn()));
  }

  private static SessionState<ThreadState> state() throws Exception {
    return SessionState.of((ThreadState) sample(ThreadState.class, "state"));
  }

  @Test
  void aSnapshotIsReadBackAsItWasWritten() throws Exception {
    assertThat(tree(read(state()))).isEqualTo(tree(state()));
  }

  @Test
  void anEntryOfTheFirstFormatIsRead() throws Exception {
    assertThat(tree(golden("thread-1.txt", turn()))).isEqualTo(tree(turn()));
  }

  @Test
  void aSnapshotOfTheFirstFormatIsRead() throws Exception {
    assertThat(tree(golden("thread-state-1.txt", state()))).isEqualTo(tree(state()));
  }

  private Object golden(String name, Object now) throws Exception {
    if (Golden.writes()) {
      Golden.write(name, serializer.manifest(now) + " " + base64(now));
    }
    String[] parts = Golden.read(name).strip().split(" ", 2);
    return serializer.fromBinary(Base64.getDecoder().decode(parts[1]), parts[0]);
  }

  private String base64(Object written) {
    return Base64.getEncoder().encodeToString(JournalSerializer.cbor(written));
  }
}
