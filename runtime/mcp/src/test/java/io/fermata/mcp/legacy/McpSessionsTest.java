package io.fermata.mcp.legacy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.rpc.RpcException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The remembered state of clients of older revisions. */
class McpSessionsTest {
  private final AtomicLong now = new AtomicLong();
  private final McpSessions sessions = new McpSessions(new FakeHost(), now::get, 10_000);

  private String open() {
    String session = sessions.open("ada", Json.object());
    sessions.require(session, "ada").watch("test://known");
    return session;
  }

  private boolean known(String session, String principal) {
    return sessions.require(session, principal).watched.contains("test://known");
  }

  private void assertGone(String session) {
    assertThatThrownBy(() -> sessions.require(session, "ada"))
        .isInstanceOf(RpcException.class)
        .hasMessageContaining("Send initialize to begin a new one");
  }

  /** What a server on another host, or one that restarted, knows of a client. */
  private JsonNode declared(String session) {
    return new McpSessions(new FakeHost(), now::get, 10_000).require(session, "ada").capabilities;
  }

  @Test
  void whatAClientChoseIsKnownToItsPrincipalAlone() {
    String session = open();

    assertThat(known(session, "ada")).isTrue();
    assertThat(known(session, "bob")).isFalse();
  }

  @Test
  void theIdOfASessionHasWhatItsClientDeclared() {
    ObjectNode forms = Json.object();
    forms.putObject("elicitation").putObject("form");
    forms.putObject("sampling").putObject("tools");

    String session = sessions.open("ada", forms);

    assertThat(declared(session)).isEqualTo(forms);
    assertThat(session).matches("[A-Za-z0-9._~-]{1,120}");
    for (JsonNode large :
        List.of(
            Json.tree("x".repeat(600)),
            Json.parse("1e150"),
            Json.parse("[".repeat(40) + "]".repeat(40)))) {
      ObjectNode all = forms.deepCopy();
      all.set("experimental", Json.object().set("a", large));
      JsonNode known = declared(sessions.open("ada", all));
      assertThat(known.at("/elicitation/form").isObject()).as(large.toString()).isTrue();
      assertThat(known.at("/sampling/tools").isObject()).as(large.toString()).isTrue();
    }
  }

  @Test
  void aSessionHasTheSameCapabilitiesOnEveryHostHoweverMuchItsClientDeclared() {
    ObjectNode few = Json.object();
    few.putObject("sampling");
    ObjectNode many = few.deepCopy();
    many.putObject("experimental");
    for (int i = 0; i < 2_000; i++) {
      many.withArrayProperty("a").addObject();
    }

    for (JsonNode capabilities : List.of(many, few, Json.object(), MissingNode.getInstance())) {
      String session = sessions.open("ada", capabilities);
      assertThat(sessions.require(session, "ada").capabilities).isEqualTo(declared(session));
    }
  }

  @Test
  void theChoicesOfAClientAreKeptWhileItsStreamIsOpen() {
    String session = open();
    CompletableFuture<Void> first = new CompletableFuture<>();
    CompletableFuture<Void> second = new CompletableFuture<>();
    sessions.listening(session, "ada", first);
    sessions.listening(session, "ada", second);
    first.complete(null);

    now.addAndGet(2 * McpSessions.IDLE.toNanos());
    open();
    assertThat(known(session, "ada")).isTrue();

    second.complete(null);
    now.addAndGet(2 * McpSessions.IDLE.toNanos());
    open();
    assertGone(session);
  }

  @Test
  void aClientWhoseOldStreamBreaksOpensAnotherOne() {
    String session = open();
    CompletableFuture<Void> stream = new CompletableFuture<>();
    sessions.listening(session, "ada", stream);
    now.addAndGet(2 * McpSessions.IDLE.toNanos());
    open();

    stream.complete(null);
    now.addAndGet(McpSessions.IDLE.toNanos());
    open();

    assertThat(sessions.listening(session, "ada", new CompletableFuture<>()).watched)
        .containsExactly("test://known");
  }

  @Test
  void aSessionIsNotIdleBeforeTheLastOfItsRequestsIsAnswered() {
    String session = open();
    CompletableFuture<Void> first = new CompletableFuture<>();
    CompletableFuture<Void> last = new CompletableFuture<>();
    sessions.inFlight(first, session, "ada");
    sessions.inFlight(last, session, "ada");
    first.complete(null);
    now.addAndGet(2 * McpSessions.IDLE.toNanos());
    open();

    last.completeExceptionally(RpcException.cancelled());
    now.addAndGet(McpSessions.IDLE.toNanos());
    open();
    assertThat(known(session, "ada")).isTrue();

    now.addAndGet(McpSessions.IDLE.toNanos() + 1);
    open();
    assertGone(session);
  }

  @Test
  void aSessionThatItsClientEndedStaysSoWhenItsRequestsAreAnswered() {
    String session = open();
    CompletableFuture<Void> answer = new CompletableFuture<>();
    sessions.inFlight(answer, session, "ada");

    sessions.end(session, "ada");
    assertGone(session);

    answer.complete(null);
    assertGone(session);
  }

  @Test
  void anIdThatNobodyIssuedIsUnknown() {
    String session = sessions.open("ada", Json.object());
    String handle = session.substring(0, session.indexOf('.'));

    for (String made :
        List.of(
            "x" + session.substring(1) + "x",
            "made-up",
            "made-up.e30",
            ".",
            "",
            handle + ".",
            handle + ".e30=e30",
            handle + ".*",
            handle + ".W10",
            handle + ".eyJ",
            handle + "." + "e30".repeat(1_000))) {
      assertThatThrownBy(() -> sessions.require(made, "ada"))
          .as(made)
          .isInstanceOf(RpcException.class);
    }
  }

  @Test
  void noNameMakesTheSessionOfAnotherOutOfItsHandle() {
    String handle = sessions.open("xada", MissingNode.getInstance());

    assertThat(sessions.require(handle, "xada").watched).isEmpty();
    assertThatThrownBy(() -> sessions.require(handle + "x", "ada"))
        .isInstanceOf(RpcException.class);
  }

  @Test
  void aResourceThatIsNoLongerWatchedMakesRoom() {
    ClientState ada = sessions.require(open(), "ada");
    IntStream.range(1, 1_000).forEach(n -> ada.watch("test://" + n));
    ada.watch("test://7");
    assertThatThrownBy(() -> ada.watch("test://1000")).isInstanceOf(RpcException.class);

    ada.unwatch("test://7");
    ada.unwatch("test://7");

    ada.watch("test://1000");
    assertThat(ada.watched).hasSize(1_000);
    assertThatThrownBy(() -> ada.watch("test://7")).isInstanceOf(RpcException.class);
  }

  @Test
  void aSessionHasEndedUnderEachIdThatItsClientMakesOfIt() {
    String session = sessions.open("ada", Json.object());
    sessions.end(session, "ada");

    String handle = session.substring(0, session.indexOf('.'));
    for (String altered : List.of(handle, handle + ".eyJhIjoxfQ")) {
      assertThatThrownBy(() -> sessions.require(altered, "ada")).isInstanceOf(RpcException.class);
    }
  }

  @Test
  void aSessionIsEndedByItsPrincipalAlone() {
    String session = open();

    sessions.end(session, "bob");
    assertThat(known(session, "ada")).isTrue();

    sessions.end(session, "ada");
    assertThatThrownBy(() -> known(session, "ada")).isInstanceOf(RpcException.class);
  }

  @Test
  void anIdleSessionIsGoneWithWhatItsClientChose() {
    String used = open();
    String idle = open();

    now.addAndGet(McpSessions.IDLE.toNanos());
    assertThat(known(used, "ada")).isTrue();
    now.addAndGet(1);
    open();

    assertThat(known(used, "ada")).isTrue();
    assertGone(idle);
  }

  @Test
  void whatWasForgottenOfASessionDoesNotMatterToItsOpenRequests() {
    String forgotten = open();
    String deleted = open();
    sessions.end(deleted, "ada");
    now.addAndGet(2 * McpSessions.IDLE.toNanos());
    open();

    sessions.requireNotDeleted(forgotten, "ada");
    assertGone(forgotten);
    assertThatThrownBy(() -> sessions.requireNotDeleted(deleted, "ada"))
        .isInstanceOf(RpcException.class);
    assertThatThrownBy(() -> sessions.requireNotDeleted("made-up", "ada"))
        .isInstanceOf(RpcException.class);
  }

  @Test
  void aForgottenSessionCanBeDeletedOnce() {
    String forgotten = open();
    now.addAndGet(2 * McpSessions.IDLE.toNanos());
    open();
    assertGone(forgotten);

    sessions.end(forgotten, "ada");

    assertThatThrownBy(() -> sessions.requireNotDeleted(forgotten, "ada"))
        .isInstanceOf(RpcException.class);
    assertThatThrownBy(() -> sessions.end(forgotten, "ada")).isInstanceOf(RpcException.class);
  }

  @Test
  void anIdleSessionWhoseClientChoseNothingContinues() {
    String session = sessions.open("ada", Json.object());

    now.addAndGet(2 * McpSessions.IDLE.toNanos());
    open();

    assertThat(known(session, "ada")).isFalse();
  }

  @Test
  void theOldestAreGoneWhereThereAreTooMany() {
    String first = open();
    String used = open();
    for (int i = 0; i < 9_998; i++) {
      open();
    }
    assertThat(known(used, "ada")).isTrue();
    open();

    assertGone(first);
    assertThat(known(used, "ada")).isTrue();
  }

  @Test
  void nobodyPushesOutWhatIsKnownOfTheSessionsOfOthers() {
    String adas = open();
    for (int i = 0; i < 20_000; i++) {
      sessions.open("bob", Json.object());
    }

    assertThat(known(adas, "ada")).isTrue();
  }
}
