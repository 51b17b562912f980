package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.flow.Flow;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import java.util.List;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.serialization.SerializationExtension;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;

/** What a host needs for others is not made for one that has none. */
class NoRemotingTest {
  record Guest(String name) {}

  private static Flow<Guest> flow() {
    return Flow.of("greet", Guest.class)
        .description("Greets.")
        .ask("ask_name", q -> q.question("name", "Name?"))
        .edge(Flow.START, "ask_name")
        .edge("ask_name", Flow.END)
        .compile();
  }

  @Test
  void aHostAloneMakesNoSerializerOfMessagesBetweenHosts() {
    try (Fermata host = Fermata.host().store(Store.memory()).flow(flow()).start()) {
      assertThat(serializers(host))
          .contains("io.fermata.session.journal.JournalSerializer")
          .noneMatch(
              type ->
                  type.startsWith("org.apache.pekko.remote.")
                      || type.startsWith("org.apache.pekko.cluster."));
    }
  }

  @Test
  void anApplicationThatConfiguresRemotingHasItsSerializers() {
    Config remoting =
        ConfigFactory.parseString("pekko.actor.provider = cluster")
            .withFallback(ConfigFactory.load());
    assertThat(NoRemoting.in(remoting)).isEqualTo(remoting);
  }

  private static List<String> serializers(Fermata host) {
    return CollectionConverters.asJavaCollection(
            SerializationExtension.get(Adapter.toClassic(host.system()))
                .serializerByIdentity()
                .values())
        .stream()
        .map(each -> each.getClass().getName())
        .toList();
  }
}
