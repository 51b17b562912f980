package io.fermata.session.journal;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.exc.InvalidTypeIdException;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * The formats of entries and snapshots, each under a name with a version: the current ones, and how
 * earlier ones are upcast, one version at a time.
 */
final class JournalFormats {
  private static final String UNKNOWN_HERE = ", which this release does not know";
  private static final String NEWER = "run the release that wrote it, or a newer one";

  private final ObjectMapper mapper;
  private final Map<String, JavaType> written;
  private final Map<String, ObjectWriter> writers = new HashMap<>();
  private final Map<String, Upcaster> upcasters;

  Set<String> names() {
    return written.keySet();
  }

  /**
   * Converts an entry of an earlier version to the next one.
   *
   * @param to the name of the next version
   * @param change converts the JSON of the entry, which it may modify
   */
  record Upcaster(String to, UnaryOperator<ObjectNode> change) {

    /** Converts an entry to the next version by changing the events of one kind. */
    static Upcaster ofEvents(String to, String kind, UnaryOperator<ObjectNode> change) {
      return new Upcaster(
          to,
          entry -> {
            for (int i = 0; i < entry.path("events").size(); i++) {
              if (entry.path("events").get(i) instanceof ObjectNode event
                  && event.path("e").asText().equals(kind)) {
                entry.withArray("events").set(i, change.apply(event));
              }
            }
            return entry;
          });
    }
  }

  /**
   * @param written the current formats, by name
   * @param upcasters the earlier formats, by name
   */
  JournalFormats(
      ObjectMapper mapper, Map<String, JavaType> written, Map<String, Upcaster> upcasters) {
    this.mapper = mapper;
    this.written = Map.copyOf(written);
    this.upcasters = Map.copyOf(upcasters);
    written.forEach((name, type) -> writers.put(name, mapper.writerFor(type)));
  }

  /** The current formats, by name. */
  Map<String, JavaType> written() {
    return written;
  }

  /** Writes an object; the type of its name determines that of its parts. */
  byte[] write(Object object, String manifest) throws IOException {
    return Objects.requireNonNull(writers.get(manifest)).writeValueAsBytes(object);
  }

  Object read(byte[] bytes, String manifest) {
    JavaType type = written.get(manifest);
    Upcaster upcaster = upcasters.get(manifest);
    if (type == null && upcaster == null) {
      throw unknown(manifest);
    }
    try {
      return type == null
          ? upcast(mapper.readTree(bytes), manifest)
          : mapper.readValue(bytes, type);
    } catch (InvalidTypeIdException e) {
      String why = " with a part of the kind " + e.getTypeId() + UNKNOWN_HERE;
      throw new UnreadableEntry(manifest, why, NEWER, e);
    } catch (UnrecognizedPropertyException e) {
      String why = " with a part " + at(e) + UNKNOWN_HERE;
      throw new UnreadableEntry(manifest, why, NEWER, e);
    } catch (IOException | RuntimeException e) {
      String where =
          e instanceof JsonMappingException mapping && !mapping.getPath().isEmpty()
              ? " at " + at(mapping)
              : "";
      throw new UnreadableEntry(
          manifest,
          " that cannot be read" + where + ", as it is damaged or was not written by Fermata",
          "restore the journal from a backup, or erase the session",
          hidden(e));
    }
  }

  /** The message of the exception may quote the content of the entry. */
  private static Throwable hidden(Exception e) {
    return new IOException(e.getClass().getName());
  }

  private static String at(JsonMappingException e) {
    return e.getPath().stream()
        .map(
            part -> part.getFieldName() == null ? "[" + part.getIndex() + "]" : part.getFieldName())
        .collect(Collectors.joining("."));
  }

  private Object upcast(JsonNode tree, String manifest) throws JsonProcessingException {
    ObjectNode now = (ObjectNode) tree;
    String name = manifest;
    for (Upcaster next = upcasters.get(name); next != null; next = upcasters.get(name)) {
      now = next.change().apply(now);
      name = next.to();
    }
    return mapper.treeToValue(now, written.get(name));
  }

  private UnreadableEntry unknown(String manifest) {
    String kind = manifest.replaceFirst(":.*", ":");
    TreeSet<String> known = new TreeSet<>(written.keySet());
    known.addAll(upcasters.keySet());
    known.removeIf(name -> !name.startsWith(kind));
    String why =
        known.isEmpty()
            ? UNKNOWN_HERE
            : ", of which this release knows only " + String.join(", ", known);
    return new UnreadableEntry(manifest, why, NEWER, null);
  }
}
