package io.fermata.flow.schema;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonStreamContext;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.deser.DeserializationProblemHandler;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.ser.PropertyWriter;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a tree has and a type does not take, also in the elements of its lists and maps. */
final class UnreadProperties extends DeserializationProblemHandler {
  private final Set<String> paths = new LinkedHashSet<>();

  private UnreadProperties() {}

  /** Their paths, as far as the tree can be read; {@code *} for the elements of a list. */
  static Set<String> of(Class<?> type, ObjectNode tree) {
    UnreadProperties unread = new UnreadProperties();
    try {
      Json.MAPPER.readerFor(type).withHandler(unread).readValue(tree);
    } catch (IOException e) {
      // That it cannot be read is for others to say.
      return unread.paths;
    }
    return unread.paths;
  }

  @Override
  public boolean handleUnknownProperty(
      DeserializationContext context,
      JsonParser parser,
      JsonDeserializer<?> reader,
      Object owner,
      String name)
      throws IOException {
    List<String> parts = parts(context.getParser().getParsingContext());
    if (context.getParser() != parser) {
      // What a record does not take is put aside, and comes when it has been read.
      parts.add(name);
    }
    if (!writes(owner instanceof Class<?> type ? type : owner.getClass(), name)) {
      paths.add(String.join(".", parts));
    }
    parser.skipChildren();
    return true;
  }

  /** Whether a type's own values have a property, such as a getter that derives it from others. */
  private static boolean writes(Class<?> type, String name) throws IOException {
    Iterator<PropertyWriter> properties =
        Json.MAPPER.getSerializerProviderInstance().findValueSerializer(type).properties();
    while (properties.hasNext()) {
      if (properties.next().getName().equals(name)) {
        return true;
      }
    }
    return false;
  }

  private static List<String> parts(@Nullable JsonStreamContext place) {
    List<String> parts = new ArrayList<>();
    for (JsonStreamContext at = place; at != null && !at.inRoot(); at = at.getParent()) {
      if (at.inArray() && at.hasCurrentIndex()) {
        parts.add(Paths.ANY);
      } else if (at.getCurrentName() != null) {
        parts.add(at.getCurrentName());
      }
    }
    Collections.reverse(parts);
    return parts;
  }
}
