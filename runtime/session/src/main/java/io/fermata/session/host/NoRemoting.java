package io.fermata.session.host;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigUtil;
import com.typesafe.config.ConfigValue;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.pekko.serialization.JSerializer;
import org.jspecify.annotations.Nullable;

/**
 * Stands in for the serializers of Pekko's own messages between hosts. An actor system makes all
 * that are configured when it starts, with hundreds of classes; a host alone sends no such message.
 */
public final class NoRemoting extends JSerializer {
  private static final int IDENTIFIER = 1_178_946_639;

  /** The configuration without these serializers, unless the application itself wants remoting. */
  public static Config in(Config config) {
    Config actors = config.getConfig("pekko.actor");
    if (!actors.getString("provider").equals("local")) {
      return config;
    }
    Map<String, String> without = new LinkedHashMap<>();
    ConfigObject serializers = actors.getObject("serializers");
    serializers.forEach(
        (name, type) -> {
          if (isOfRemoting(type)) {
            without.put(ConfigUtil.joinPath("serializers", name), NoRemoting.class.getName());
          }
        });
    actors
        .getObject("serialization-bindings")
        .forEach(
            (message, name) -> {
              ConfigValue type = serializers.get(name.unwrapped());
              if (type != null && isOfRemoting(type)) {
                without.put(ConfigUtil.joinPath("serialization-bindings", message), "none");
              }
            });
    return ConfigFactory.parseMap(without).atPath("pekko.actor").withFallback(config);
  }

  private static boolean isOfRemoting(ConfigValue serializer) {
    String type = String.valueOf(serializer.unwrapped());
    return type.startsWith("org.apache.pekko.remote.")
        || type.startsWith("org.apache.pekko.cluster.");
  }

  @Override
  public int identifier() {
    return IDENTIFIER;
  }

  @Override
  public boolean includeManifest() {
    return false;
  }

  @Override
  public byte[] toBinary(Object message) {
    throw new UnsupportedOperationException(
        "A host without a cluster sends no " + message.getClass().getName());
  }

  @Override
  public Object fromBinaryJava(byte[] bytes, @Nullable Class<?> manifest) {
    throw new UnsupportedOperationException("A host without a cluster receives no messages");
  }

  /** One stands in for many: Pekko refuses different serializers with the same identifier. */
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof NoRemoting;
  }

  @Override
  public int hashCode() {
    return IDENTIFIER;
  }
}
