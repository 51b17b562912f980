package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.cluster.typed.Cluster;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class MembershipTest {
  private static final String HOST = "pekko://fermata@10.0.0.5:7400";

  private final ActorTestKit kit =
      ActorTestKit.create(
          ConfigFactory.parseString(
                  "pekko.actor.provider = cluster, pekko.remote.artery.canonical.port = 0")
              .withFallback(ConfigFactory.load()));
  private final Membership membership =
      new Membership(
          ForwarderTest.never(),
          Cluster.get(kit.system()),
          new Agreement(Offers.UNREADABLE, all -> {}),
          new EndedHosts(address -> false, System::nanoTime));

  @AfterEach
  void stop() {
    kit.shutdownTestKit();
  }

  @Test
  void aHostThatComesToTheAddressOfOneThatHasLeftDoesNotLeave() {
    membership.leaves(HOST);
    assertThat(membership.isLeaving(HOST)).isTrue();

    membership.gone(HOST);

    assertThat(membership.isLeaving(HOST)).isFalse();
  }
}
