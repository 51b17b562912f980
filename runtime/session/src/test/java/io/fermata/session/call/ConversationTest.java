package io.fermata.session.call;

import static io.fermata.session.PromisesTest.await;
import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.session.TestFlows;
import io.fermata.session.TestHost;
import io.fermata.session.TestHost.Client;
import io.fermata.session.key.Handles;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which session a call belongs to, and how sessions sleep and wake. */
@Tag("slow")
class ConversationTest {

  @Test
  void aStartWithoutASessionMintsAHandleAndEveryResultCarriesIt() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client();
      String handle = client.start().structured().path("sessionId").asText();
      assertThat(handle).hasSize(43);
      assertThat(client.proceed("from", "Ulm").structured().path("sessionId").asText())
          .isEqualTo(handle);
      assertThat(client.proceed("bogus", 1).structured().path("sessionId").asText())
          .isEqualTo(handle);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"continue", "reset", "status", "cancel"})
  void anyOtherActionWithoutASessionIsAnErrorThatSaysSo(String action) {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client();
      assertThat(code(client.send(client.arguments(action)))).isEqualTo("missing_session");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "fermata/sessionId",
        "waniwani/sessionId",
        "openai/sessionId",
        "openai/session",
        "sessionId",
        "conversationId",
        "threadId",
        "ai.opencode/sessionID",
        "antigravity.google/conversation_id",
        "mcp-session-id"
      })
  void aSessionNamedInMetaIsTheClientsToChooseAndIsNotReturned(String key) {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client().meta(key, "chat-1");
      assertThat(client.start().structured().has("sessionId")).isFalse();
      assertThat(field(client.proceed("from", "Ulm"))).isEqualTo("to");
      Client other = host.client().meta(key, "chat-2");
      assertThat(code(other.proceed())).isEqualTo("unknown_run");
    }
  }

  @Test
  void theFirstFilledKeyDecides() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      host.client().meta("openai/session", "a").start();
      Client both = host.client().meta("fermata/sessionId", "").meta("openai/session", "a");
      both.meta("threadId", "z");
      assertThat(field(both.proceed())).isEqualTo("from");
    }
  }

  @Test
  void theArgumentGoesBeforeMetaAndMetaBeforeTheTransport() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client byHandle = host.client();
      byHandle.start("from", "Ulm");
      Client mixed = host.client().meta("openai/session", "a");
      mixed.sessionId = byHandle.sessionId;
      assertThat(field(mixed.proceed())).isEqualTo("to");

      Client byMeta = host.client().meta("openai/session", "b");
      byMeta.transport = "t";
      byMeta.start("from", "Ulm");
      Client byTransport = host.client();
      byTransport.transport = "t";
      assertThat(code(byTransport.proceed())).isEqualTo("unknown_run");
    }
  }

  @Test
  void aTransportSessionBecomesAHandleThatWorksOnAnyOtherTransport() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client();
      client.transport = "mcp-1";
      client.start();
      String handle = client.sessionId;
      Client sameTransport = host.client();
      sameTransport.transport = "mcp-1";
      assertThat(field(sameTransport.proceed("from", "Ulm"))).isEqualTo("to");
      Client elsewhere = host.client();
      elsewhere.sessionId = handle;
      assertThat(status(elsewhere.proceed("to", "Bonn"))).isEqualTo("complete");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"chat-1", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "x", "../../etc", "😀"})
  void aHandleThatThisServerDidNotMintIsRefused(String handle) {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client();
      client.sessionId = handle;
      assertThat(code(client.proceed())).isEqualTo("unknown_session");
      client.sessionId = handle;
      assertThat(code(client.start())).isEqualTo("unknown_session");
    }
  }

  @Test
  void anotherPrincipalFindsNothing() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client ann = host.client();
      ann.principal = "ann";
      ann.start("from", "Ulm");
      Client bob = host.client();
      bob.principal = "bob";
      bob.sessionId = ann.sessionId;
      assertThat(code(bob.proceed("to", "Bonn"))).isEqualTo("unknown_run");
      assertThat(code(bob.status())).isEqualTo("unknown_run");
      assertThat(code(bob.cancel())).isEqualTo("unknown_run");
      assertThat(field(bob.start())).isEqualTo("from");
      assertThat(field(ann.proceed())).isEqualTo("to");
    }
  }

  @Test
  void twoFlowsInOneSessionNeverTouchEachOther() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip(), TestFlows.talk())) {
      Client trip = host.client("trip");
      trip.start();
      Client talk = host.client("talk");
      talk.sessionId = trip.sessionId;
      assertThat(code(talk.proceed())).isEqualTo("unknown_run");
      talk.start();
      talk.proceed("word", "x");
      assertThat(field(trip.proceed("from", "Ulm"))).isEqualTo("to");
      assertThat(talk.proceed("word", "bye").structured().path("result"))
          .isEqualTo(Json.tree(List.of("x", "bye")));
    }
  }

  @Test
  void handlesStayValidAfterARestart() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client();
      client.start("from", "Ulm");
      host.restart();
      assertThat(field(client.proceed())).isEqualTo("to");
    }
  }

  @Test
  void handlesAreUniqueAndAnAlteredOneIsNotRecognised() {
    Handles handles = new Handles(new byte[32]);
    Set<String> minted = new HashSet<>();
    for (int i = 0; i < 1000; i++) {
      String handle = handles.mint();
      assertThat(minted.add(handle)).isTrue();
      assertThat(handles.minted(handle)).isTrue();
    }
    String handle = handles.mint();
    for (int i = 0; i < handle.length(); i++) {
      char other = handle.charAt(i) == 'A' ? 'B' : 'A';
      String altered = handle.substring(0, i) + other + handle.substring(i + 1);
      assertThat(handles.minted(altered)).as(altered).isFalse();
    }
    byte[] otherKey = new byte[32];
    otherKey[0] = 1;
    assertThat(new Handles(otherKey).minted(handle)).isFalse();
  }

  @Test
  void anIdleSessionGoesToSleepAndWakesWhereItWas() {
    try (TestHost host =
        new TestHost(Store.memory(), s -> s.idle(Duration.ofMillis(100)), TestFlows.trip())) {
      Client client = host.client();
      client.start("from", "Ulm");
      await(() -> awake(host) == 0);
      assertThat(field(client.proceed())).isEqualTo("to");
    }
  }

  @Test
  void aSessionAtWorkDoesNotFallAsleep() throws Exception {
    try (TestHost host =
        new TestHost(
            Store.memory(),
            s -> s.idle(Duration.ofMillis(50)),
            TestFlows.trip(run -> Thread.sleep(500), o -> {}).compile())) {
      Client client = host.client();
      client.start();
      assertThat(field(client.proceed("from", "Ulm"))).isEqualTo("to");
    }
  }

  @Test
  void theLeastUsedSessionsMakeRoomForOthers() {
    try (TestHost host = new TestHost(Store.memory(), s -> s.awake(10), TestFlows.trip())) {
      List<Client> clients = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        Client client = host.client();
        client.start();
        clients.add(client);
      }
      await(() -> awake(host) <= 11);
      clients.forEach(client -> assertThat(field(client.proceed("from", "Ulm"))).isEqualTo("to"));
    }
  }

  @Test
  void aLongSessionIsReadBackFromItsSnapshot() {
    try (TestHost host = new TestHost(Store.memory(), s -> s.snapshotEvery(5), TestFlows.talk())) {
      Client client = host.client();
      client.start();
      for (int i = 0; i < 23; i++) {
        client.proceed("word", "w" + i);
      }
      host.crash();
      assertThat(client.proceed("word", "bye").structured().path("result")).hasSize(24);
    }
  }

  private static int awake(TestHost host) {
    return host.fermata().awake();
  }
}
