package io.fermata.flow.schema;

import com.fasterxml.jackson.annotation.JsonFormat;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.BeanDescription;
import com.fasterxml.jackson.databind.BeanProperty;
import com.fasterxml.jackson.databind.DeserializationConfig;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import com.fasterxml.jackson.databind.deser.BeanDeserializerModifier;
import com.fasterxml.jackson.databind.deser.std.DelegatingDeserializer;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TreeTraversingParser;
import com.fasterxml.jackson.databind.type.CollectionType;
import com.fasterxml.jackson.databind.type.MapType;
import io.fermata.flow.json.GrowingArray;
import io.fermata.flow.json.Json;
import java.io.IOException;
import java.lang.annotation.Annotation;
import java.util.AbstractList;
import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.RandomAccess;
import java.util.Set;
import java.util.Spliterator;
import java.util.Spliterators;
import org.jspecify.annotations.Nullable;

/**
 * Reads states as records of one type. The elements of their lists and maps are read on access, so
 * the cost of a view depends on what is read, not on the size of the state.
 */
public final class StateViews<S extends Record> {
  private static final ObjectMapper MAPPER = Json.MAPPER.copy().registerModule(module());

  private final Class<S> type;
  private final ObjectReader reader;

  public StateViews(Class<S> type) {
    this.type = type;
    this.reader = MAPPER.readerFor(type);
  }

  public S of(ObjectNode data) {
    return read(new Walk(data, null));
  }

  /**
   * Refuses a state that cannot be read.
   *
   * @param before what could be read; lists and maps are only looked at where they differ from it
   */
  void requireReadable(ObjectNode data, JsonNode before) {
    read(new Walk(data, before));
  }

  private S read(Walk walk) {
    try {
      return type.cast(reader.readValue(walk));
    } catch (IOException e) {
      throw Json.unreadable(e);
    }
  }

  // --- reading --------------------------------------------------------------------------------

  /** The way of a reader through a state, with the state before if it is to look at the changes. */
  private static final class Walk extends TreeTraversingParser {
    private final @Nullable JsonNode before;

    Walk(JsonNode tree, @Nullable JsonNode before) {
      super(tree, Json.MAPPER);
      this.before = before;
    }

    /** Goes past the list or the object that begins here, which is for later. */
    Content skip(ObjectReader reader) throws IOException {
      skipChildren();
      Content content = new Content(currentNode(), reader);
      if (before != null) {
        content.readUnlike(before.at(getParsingContext().pathAsPointer()));
      }
      return content;
    }
  }

  private static SimpleModule module() {
    SimpleModule module = new SimpleModule("views");
    module.setDeserializerModifier(
        new BeanDeserializerModifier() {
          @Override
          public JsonDeserializer<?> modifyCollectionDeserializer(
              DeserializationConfig config,
              CollectionType type,
              BeanDescription description,
              JsonDeserializer<?> reader) {
            return new Later(reader, null, JsonToken.START_ARRAY);
          }

          @Override
          public JsonDeserializer<?> modifyMapDeserializer(
              DeserializationConfig config,
              MapType type,
              BeanDescription description,
              JsonDeserializer<?> reader) {
            return new Later(reader, null, JsonToken.START_OBJECT);
          }
        });
    return module;
  }

  /** Leaves what a list or a map holds for later, unless the author asks for something special. */
  private static final class Later extends DelegatingDeserializer {
    private static final List<Class<? extends Annotation>> SPECIAL =
        List.of(
            JsonDeserialize.class,
            JsonFormat.class,
            JsonIgnoreProperties.class,
            JsonSetter.class,
            JsonTypeInfo.class);

    private final @Nullable ObjectReader reader;
    private final JsonToken begin;

    Later(JsonDeserializer<?> whole, @Nullable ObjectReader reader, JsonToken begin) {
      super(whole);
      this.reader = reader;
      this.begin = begin;
    }

    @Override
    public JsonDeserializer<?> createContextual(
        DeserializationContext context, @Nullable BeanProperty property)
        throws JsonMappingException {
      JavaType declared = context.getContextualType();
      JsonDeserializer<?> whole =
          context.handleSecondaryContextualization(_delegatee, property, declared);
      return declared == null || !ordinary(declared) || special(property)
          ? whole
          : new Later(whole, Json.MAPPER.readerFor(declared.getContentType()), begin);
    }

    private static boolean ordinary(JavaType type) {
      return type.isMapLikeType()
          ? type.hasRawClass(Map.class) && type.getKeyType().hasRawClass(String.class)
          : type.isCollectionLikeType() && type.getRawClass().isAssignableFrom(List.class);
    }

    private static boolean special(@Nullable BeanProperty property) {
      return property != null && SPECIAL.stream().anyMatch(a -> property.getAnnotation(a) != null);
    }

    @Override
    protected JsonDeserializer<?> newDelegatingInstance(JsonDeserializer<?> whole) {
      return new Later(whole, reader, begin);
    }

    @Override
    public Object deserialize(JsonParser parser, DeserializationContext context)
        throws IOException {
      if (reader == null || !(parser instanceof Walk walk) || !walk.hasToken(begin)) {
        return super.deserialize(parser, context);
      }
      Content content = walk.skip(reader);
      return begin == JsonToken.START_ARRAY ? new Items(content) : new Entries(content);
    }
  }

  // --- what is read later ---------------------------------------------------------------------

  /** The elements of a list, by index, or of a map, by key; each is read once. */
  private static final class Content {
    private final JsonNode tree;
    private final ObjectReader reader;
    private final Map<Object, @Nullable Object> read = new HashMap<>();

    Content(JsonNode tree, ObjectReader reader) {
      this.tree = tree;
      this.reader = reader;
    }

    @SuppressWarnings("ReferenceEquality") // trees are never changed: the same object says the same
    void readUnlike(JsonNode before) throws IOException {
      if (tree == before) {
        return;
      }
      if (tree instanceof ArrayNode array) {
        int known = before instanceof ArrayNode then ? GrowingArray.shared(then, array) : 0;
        for (int i = known; i < array.size(); i++) {
          if (array.get(i) != before.get(i)) {
            try {
              reader.readValue(array.get(i));
            } catch (IOException e) {
              throw JsonMappingException.wrapWithPath(e, array, i);
            }
          }
        }
      }
      for (Map.Entry<String, JsonNode> entry : tree.properties()) {
        if (entry.getValue() != before.get(entry.getKey())) {
          reader.readValue(entry.getValue());
        }
      }
    }

    int size() {
      return tree.size();
    }

    Iterator<String> keys() {
      return tree.fieldNames();
    }

    boolean has(String key) {
      return tree.has(key);
    }

    @Nullable Object element(int index) {
      return element(index, tree.get(Objects.checkIndex(index, size())));
    }

    @Nullable Object element(String key) {
      JsonNode element = tree.get(key);
      return element == null ? null : element(key, element);
    }

    private synchronized @Nullable Object element(Object key, JsonNode element) {
      return read.computeIfAbsent(key, unused -> read(element));
    }

    private @Nullable Object read(JsonNode element) {
      try {
        return reader.readValue(element);
      } catch (IOException e) {
        throw Json.unreadable(e);
      }
    }
  }

  private static UnsupportedOperationException fixed() {
    return new UnsupportedOperationException(
        "A list or a map of the state cannot be changed; write to the state, or change a copy");
  }

  private static final class Items extends AbstractList<@Nullable Object> implements RandomAccess {
    private final Content content;

    Items(Content content) {
      this.content = content;
    }

    @Override
    public int size() {
      return content.size();
    }

    @Override
    public @Nullable Object get(int index) {
      return content.element(index);
    }

    @Override
    public @Nullable Object set(int index, @Nullable Object element) {
      throw fixed();
    }

    @Override
    public void add(int index, @Nullable Object element) {
      throw fixed();
    }

    @Override
    public @Nullable Object remove(int index) {
      throw fixed();
    }
  }

  private static final class Entries extends AbstractMap<String, @Nullable Object> {
    private final Content content;

    Entries(Content content) {
      this.content = content;
    }

    @Override
    public boolean containsKey(@Nullable Object key) {
      return key instanceof String name && content.has(name);
    }

    @Override
    public @Nullable Object get(@Nullable Object key) {
      return key instanceof String name ? content.element(name) : null;
    }

    @Override
    public @Nullable Object put(String key, @Nullable Object value) {
      throw fixed();
    }

    @Override
    public @Nullable Object remove(@Nullable Object key) {
      throw fixed();
    }

    @Override
    public Set<Map.Entry<String, @Nullable Object>> entrySet() {
      return new AbstractSet<>() {
        @Override
        public int size() {
          return content.size();
        }

        @Override
        public Spliterator<Map.Entry<String, @Nullable Object>> spliterator() {
          return Spliterators.spliterator(this, Spliterator.ORDERED | Spliterator.DISTINCT);
        }

        @Override
        public Iterator<Map.Entry<String, @Nullable Object>> iterator() {
          Iterator<String> keys = content.keys();
          return new Iterator<>() {
            @Override
            public boolean hasNext() {
              return keys.hasNext();
            }

            @Override
            public Map.Entry<String, @Nullable Object> next() {
              String key = keys.next();
              return new SimpleImmutableEntry<>(key, content.element(key));
            }
          };
        }
      };
    }
  }
}
