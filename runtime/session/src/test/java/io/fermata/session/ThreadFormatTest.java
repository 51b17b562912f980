package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.ThreadEvent;
import io.fermata.agent.ThreadState;
import io.fermata.flow.Json;
import java.io.InputStream;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The format of a thread's journal is a promise, as that of a run's is. */
class ThreadFormatTest {
  private final JournalSerializer serializer = new JournalSerializer();

  /** One of every kind of event, with every part filled. */
  private static JournalRecord.Turn turn() throws Exception {
    List<ThreadEvent> events = new ArrayList<>();
    for (Class<?> kind : kinds(ThreadEvent.class)) {
      events.add((ThreadEvent) sample(kind, "event"));
    }
    return new JournalRecord.Turn(7, 8, true, 9L, events);
  }

  private static List<Class<?>> kinds(Class<?> sealed) {
    List<Class<?>> kinds = new ArrayList<>();
    for (Class<?> kind : sealed.getPermittedSubclasses()) {
      if (kind.isSealed()) {
        kinds.addAll(kinds(kind));
      } else {
        kinds.add(kind);
      }
    }
    kinds.sort(Comparator.comparing(Class::getName));
    return kinds;
  }

  /** A value of a type, with every part filled. */
  private static Object sample(Type type, String name) throws Exception {
    if (type instanceof ParameterizedType of) {
      Type[] parts = of.getActualTypeArguments();
      if (of.getRawType() == Map.class) {
        return Map.of(name, sample(parts[1], name));
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
    return kind.isEnum() ? kind.getEnumConstants()[0] : record(kind);
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

  private static JsonNode tree(Object written) {
    return JournalSerializer.MAPPER.valueToTree(written);
  }

  private Object read(Object written) throws Exception {
    return serializer.fromBinary(serializer.toBinary(written), serializer.manifest(written));
  }

  @Test
  void everyKindOfEventIsReadBackAsItWasWritten() throws Exception {
    assertThat(tree(read(turn()))).isEqualTo(tree(turn()));
  }

  @Test
  void aSnapshotIsReadBackAsItWasWritten() throws Exception {
    Object state = sample(ThreadState.class, "state");
    assertThat(tree(read(state))).isEqualTo(tree(state));
  }

  @Test
  void theRecordOfTheFirstReleaseIsStillRead() throws Exception {
    Object first = serializer.fromBinary(golden("thread-turn-1.txt"), "turn:1");
    assertThat(tree(first)).as("it would be written %s", base64(turn())).isEqualTo(tree(turn()));
  }

  @Test
  void theSnapshotOfTheFirstReleaseIsStillRead() throws Exception {
    // It knew nothing of what named messages said.
    ObjectNode known = (ObjectNode) tree(sample(ThreadState.class, "state"));
    known.remove("contents");
    Object first = serializer.fromBinary(golden("thread-snapshot-1.txt"), "thread:1");
    assertThat(tree(first)).isEqualTo(known);
  }

  @Test
  void aSnapshotThatKnowsWhatMessagesSaidIsStillRead() throws Exception {
    Object state = sample(ThreadState.class, "state");
    Object read = serializer.fromBinary(golden("thread-snapshot-2.txt"), "thread:1");
    assertThat(tree(read)).as("it would be written %s", base64(state)).isEqualTo(tree(state));
  }

  private String base64(Object written) {
    return Base64.getEncoder().encodeToString(serializer.toBinary(written));
  }

  private static byte[] golden(String name) throws Exception {
    try (InputStream in = ThreadFormatTest.class.getResourceAsStream("/" + name)) {
      if (in == null) {
        return new byte[] {(byte) 0xf6};
      }
      String text = new String(in.readAllBytes(), StandardCharsets.US_ASCII);
      return Base64.getMimeDecoder().decode(text.strip());
    }
  }
}
