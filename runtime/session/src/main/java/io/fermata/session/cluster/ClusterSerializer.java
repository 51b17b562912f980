package io.fermata.session.cluster;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.module.SimpleModule;
import io.fermata.session.journal.JournalSerializer;
import java.io.IOException;
import java.io.NotSerializableException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedSet;
import java.util.TreeSet;
import org.apache.pekko.actor.ExtendedActorSystem;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorRefResolver;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.serialization.SerializerWithStringManifest;

/**
 * Serializes the messages between hosts as CBOR, under stable names with a version. A host of
 * another release that does not know one refuses it.
 */
public final class ClusterSerializer extends SerializerWithStringManifest {
  private static final int IDENTIFIER = 1_178_946_638;

  /** A message between hosts. */
  interface Message {}

  private static final List<Class<? extends Message>> TYPES =
      List.of(
          ToShard.Touch.class,
          ToShard.Deliver.class,
          ToShard.StopWaiting.class,
          ToShard.Delete.class,
          ToShard.Deletion.class,
          ToShard.Follow.class,
          ToHost.Accepted.class,
          ToHost.Replied.class,
          ToHost.Progressed.class,
          ToHost.Persisted.class,
          ToHost.Ended.class,
          ToHost.Streamed.class,
          ToHost.Published.class,
          ToHost.Bar.class,
          ToHost.Confirmed.class,
          ToHost.Unbar.class,
          ToHost.Opened.class,
          ToHost.Leaving.class,
          ToHost.AskStore.class,
          ToHost.StoreReached.class);

  private final ObjectMapper mapper;
  private final Map<Class<?>, String> names = new HashMap<>();
  private final Map<String, Class<?>> types = new HashMap<>();

  /** The names of what hosts write to each other and to the store. */
  static SortedSet<String> formats() {
    SortedSet<String> formats = new TreeSet<>(JournalSerializer.formats());
    TYPES.forEach(type -> formats.add(name(type)));
    return formats;
  }

  private static String name(Class<?> type) {
    return type.getSimpleName() + ":1";
  }

  /** Created by the actor system, as its configuration names this class. */
  public ClusterSerializer(ExtendedActorSystem system) {
    ActorRefResolver resolver = ActorRefResolver.get(Adapter.toTyped(system));
    this.mapper = JournalSerializer.mapper().registerModule(references(resolver));
    for (Class<?> type : TYPES) {
      String name = name(type);
      names.put(type, name);
      types.put(name, type);
    }
  }

  @SuppressWarnings("rawtypes") // a reference is written without the type of its messages
  private static SimpleModule references(ActorRefResolver resolver) {
    SimpleModule module = new SimpleModule();
    module.addSerializer(
        ActorRef.class,
        new JsonSerializer<>() {
          @Override
          public void serialize(ActorRef value, JsonGenerator to, SerializerProvider provider)
              throws IOException {
            to.writeString(resolver.toSerializationFormat((ActorRef<?>) value));
          }
        });
    module.addDeserializer(
        ActorRef.class,
        new JsonDeserializer<>() {
          @Override
          public ActorRef<?> deserialize(JsonParser from, DeserializationContext context)
              throws IOException {
            return resolver.resolveActorRef(from.getText());
          }
        });
    return module;
  }

  @Override
  public int identifier() {
    return IDENTIFIER;
  }

  @Override
  public String manifest(Object message) {
    return Objects.requireNonNull(
        names.get(message.getClass()), () -> "Not a message between hosts: " + message.getClass());
  }

  @Override
  public byte[] toBinary(Object message) {
    try {
      return mapper.writeValueAsBytes(message);
    } catch (IOException e) {
      throw new IllegalStateException("A message could not be serialized", e);
    }
  }

  @Override
  public Object fromBinary(byte[] bytes, String manifest) throws NotSerializableException {
    Class<?> type = types.get(manifest);
    if (type == null) {
      throw new NotSerializableException(
          "The message "
              + manifest
              + " of another host, which this release does not know; run the same release on all"
              + " hosts");
    }
    try {
      return mapper.readValue(bytes, type);
    } catch (IOException e) {
      throw new NotSerializableException(
          "The message " + manifest + " of another host: " + e.getMessage());
    }
  }
}
