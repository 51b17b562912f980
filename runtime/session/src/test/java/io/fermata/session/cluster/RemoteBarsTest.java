package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.session.actor.SessionRegion;
import io.fermata.session.admin.SessionScope;
import java.lang.reflect.Proxy;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.testkit.typed.javadsl.TestProbe;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How a host stops the sessions that another one erases. */
class RemoteBarsTest {
  private static final SessionScope SCOPE = new SessionScope(Set.of("session"), Set.of());

  private final ActorTestKit kit = ActorTestKit.create();
  private final TestProbe<SessionRegion.Message> region = kit.createTestProbe();
  private final TestProbe<ToHost> other = kit.createTestProbe();
  private final RemoteBars bars = new RemoteBars(region.ref(), upkeep(), "here");

  private static HostCluster.ShardUpkeep upkeep() {
    return (HostCluster.ShardUpkeep)
        Proxy.newProxyInstance(
            HostCluster.ShardUpkeep.class.getClassLoader(),
            new Class<?>[] {HostCluster.ShardUpkeep.class},
            (proxy, method, arguments) -> CompletableFuture.completedFuture(null));
  }

  @AfterEach
  void stop() {
    kit.shutdownTestKit();
  }

  private void bar() {
    bars.hold(new ToHost.Bar(1, SCOPE, other.ref()));
  }

  private void unbar() {
    bars.lift(new ToHost.Unbar(2, 1, SCOPE, true, other.ref()));
  }

  private void stops() {
    SessionRegion.Bar bar = region.expectMessageClass(SessionRegion.Bar.class);
    assertThat(bar.scope()).isEqualTo(SCOPE);
    bar.stopped().complete(null);
  }

  private void lifts() {
    SessionRegion.Unbar unbar = region.expectMessageClass(SessionRegion.Unbar.class);
    assertThat(unbar.scope()).isEqualTo(SCOPE);
    unbar.lifted().complete(null);
  }

  private void isConfirmed(long id) {
    other.expectMessage(new ToHost.Confirmed(id, "here"));
  }

  @Test
  void itsSessionsStopOnceHoweverOftenTheBarIsRepeated() {
    bar();
    bar();
    other.expectNoMessage();
    stops();
    isConfirmed(1);
    isConfirmed(1);
    unbar();
    lifts();
    isConfirmed(2);
    region.expectNoMessage();
  }

  @Test
  void aSessionThatDoesNotStopKeepsNoOtherBehindTheBar() {
    bar();
    assertThat(region.expectMessageClass(SessionRegion.Bar.class).stopped()).isNotDone();
    unbar();
    lifts();
    isConfirmed(2);
  }

  @Test
  void aHostThatJoinedAfterTheOthersHadStoppedTheirSessionsStopsItsOwnBeforeItLetsThemStart() {
    unbar();
    other.expectNoMessage();
    stops();
    lifts();
    isConfirmed(2);
  }

  @Test
  void anEndThatIsRepeatedStopsNothingAgain() {
    unbar();
    unbar();
    stops();
    lifts();
    isConfirmed(2);
    isConfirmed(2);
    unbar();
    isConfirmed(2);
    region.expectNoMessage();
  }
}
