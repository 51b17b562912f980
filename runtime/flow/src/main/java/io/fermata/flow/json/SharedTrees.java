package io.fermata.flow.json;

import com.fasterxml.jackson.annotation.JacksonAnnotationsInside;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * How the trees of a state are written, which share most of what they hold: what several of them
 * hold is written where it comes first, and is one and the same again when it is read.
 *
 * <p>Objects, arrays and long texts are numbered in the order in which they end. An array that
 * holds nothing but a number stands for what has that number; every other one begins with {@code
 * true}, and its elements follow.
 */
public final class SharedTrees {
  /** A tree that is written so. */
  @Retention(RetentionPolicy.RUNTIME)
  @JacksonAnnotationsInside
  @JsonSerialize(using = Writer.class)
  @JsonDeserialize(using = Reader.class)
  public @interface Tree {}

  /** Trees that are written so. */
  @Retention(RetentionPolicy.RUNTIME)
  @JacksonAnnotationsInside
  @JsonSerialize(contentUsing = Writer.class)
  @JsonDeserialize(contentUsing = Reader.class)
  public @interface Trees {}

  /** Writing a shorter text again takes about as much room as its number. */
  private static final int LONG_TEXT = 16;

  private SharedTrees() {}

  private static boolean isLong(String text) {
    return text.length() >= LONG_TEXT;
  }

  /** Writes a tree, as part of all that is written in one go. */
  static final class Writer extends JsonSerializer<JsonNode> {
    @Override
    public void serialize(JsonNode tree, JsonGenerator out, SerializerProvider provider)
        throws IOException {
      write(tree, numbers(provider), out, provider);
    }

    private record Numbers(IdentityHashMap<JsonNode, Integer> known) {}

    private static IdentityHashMap<JsonNode, Integer> numbers(SerializerProvider provider) {
      if (provider.getAttribute(Numbers.class) instanceof Numbers numbers) {
        return numbers.known();
      }
      Numbers numbers = new Numbers(new IdentityHashMap<>());
      provider.setAttribute(Numbers.class, numbers);
      return numbers.known();
    }

    private static void write(
        JsonNode tree,
        IdentityHashMap<JsonNode, Integer> numbers,
        JsonGenerator out,
        SerializerProvider provider)
        throws IOException {
      Integer number = numbers.get(tree);
      if (number != null) {
        out.writeStartArray();
        out.writeNumber(number);
        out.writeEndArray();
        return;
      }
      if (tree instanceof ObjectNode) {
        out.writeStartObject();
        for (Map.Entry<String, JsonNode> field : tree.properties()) {
          out.writeFieldName(field.getKey());
          write(field.getValue(), numbers, out, provider);
        }
        out.writeEndObject();
      } else if (tree instanceof ArrayNode) {
        out.writeStartArray();
        out.writeBoolean(true);
        for (JsonNode element : tree) {
          write(element, numbers, out, provider);
        }
        out.writeEndArray();
      } else {
        tree.serialize(out, provider);
        if (!tree.isTextual() || !isLong(tree.textValue())) {
          return;
        }
      }
      numbers.put(tree, numbers.size());
    }
  }

  /** Reads a tree, as part of all that is read in one go. */
  static final class Reader extends JsonDeserializer<JsonNode> {
    @Override
    public JsonNode deserialize(JsonParser in, DeserializationContext context) throws IOException {
      return read(in, context, numbered(context));
    }

    @Override
    public JsonNode getNullValue(DeserializationContext context) {
      return NullNode.getInstance();
    }

    private record Numbered(List<JsonNode> trees) {}

    private static List<JsonNode> numbered(DeserializationContext context) {
      if (context.getAttribute(Numbered.class) instanceof Numbered numbered) {
        return numbered.trees();
      }
      Numbered numbered = new Numbered(new ArrayList<>());
      context.setAttribute(Numbered.class, numbered);
      return numbered.trees();
    }

    private static JsonNode read(
        JsonParser in, DeserializationContext context, List<JsonNode> numbered) throws IOException {
      JsonNode tree;
      if (in.currentToken() == JsonToken.START_OBJECT) {
        ObjectNode object = context.getNodeFactory().objectNode();
        while (in.nextToken() == JsonToken.FIELD_NAME) {
          String name = in.currentName();
          in.nextToken();
          object.set(name, read(in, context, numbered));
        }
        tree = object;
      } else if (in.currentToken() == JsonToken.START_ARRAY) {
        if (in.nextToken() == JsonToken.VALUE_NUMBER_INT) {
          JsonNode known = numbered.get(in.getIntValue());
          in.nextToken();
          return known;
        }
        ArrayNode array = context.getNodeFactory().arrayNode();
        while (in.nextToken() != JsonToken.END_ARRAY) {
          array.add(read(in, context, numbered));
        }
        tree = array;
      } else {
        tree = context.readTree(in);
        if (!tree.isTextual() || !isLong(tree.textValue())) {
          return tree;
        }
      }
      numbered.add(tree);
      return tree;
    }
  }
}
