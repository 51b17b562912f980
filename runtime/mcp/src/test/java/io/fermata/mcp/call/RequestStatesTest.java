package io.fermata.mcp.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.call.LocalBus;
import io.fermata.session.key.TestHandles;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The state of a call that an untrusted client keeps. */
class RequestStatesTest {
  private static final String CALL = call("{\"a\":1,\"b\":{\"c\":2,\"d\":3}}");

  private final AtomicLong now = new AtomicLong(1_000_000);
  private final RequestStates states = states("here");
  private final ObjectNode content =
      Json.object().put("name", "Ada Lo").put("remembered", "what we agreed on");

  private RequestStates states(String store) {
    return new RequestStates(TestHandles.ofStore(store), new LocalBus(), now::get, 3);
  }

  private static String call(String arguments) {
    return RequestStates.call("tools/call", "pay", (ObjectNode) Json.parse(arguments));
  }

  private JsonNode open(String state, String principal, String call) {
    RequestStates.Opened opened = states.open(state, principal, call);
    opened.use("make a new call");
    return opened.content();
  }

  private void refuses(String state, String principal, String call, String why) {
    assertThatThrownBy(() -> open(state, principal, call))
        .isInstanceOf(RpcException.class)
        .hasMessageContaining(why);
  }

  @Test
  void itComesBackAsItWasAndCannotBeRead() {
    String state = states.encrypt(content, "ada", CALL);

    assertThat(state).doesNotContain("Ada Lo", "agreed");
    assertThat(open(state, "ada", CALL)).isEqualTo(content);
  }

  @Test
  void itOutlivesARestartOfTheServer() {
    String state = states("here").encrypt(content, "ada", CALL);

    assertThat(open(state, "ada", CALL)).isEqualTo(content);
  }

  @Test
  void itIsOfOnePrincipalAndOneCall() {
    String state = states.encrypt(content, "ada", CALL);

    refuses(state, "bob", CALL, "make a new call");
    refuses(state, "ada", call("{\"a\":2,\"b\":{\"c\":2,\"d\":3}}"), "make a new call");
    refuses(states("elsewhere").encrypt(content, "ada", CALL), "ada", CALL, "make a new call");
  }

  @Test
  void theOrderOfArgumentsDoesNotMatter() {
    String state = states.encrypt(content, "ada", CALL);

    assertThat(open(state, "ada", call("{\"b\":{\"d\":3,\"c\":2},\"a\":1}"))).isEqualTo(content);
  }

  @Test
  void itIsTakenBackOnce() {
    String state = states.encrypt(content, "ada", CALL);

    open(state, "ada", CALL);

    refuses(state, "ada", CALL, "used before");
  }

  @Test
  void itIsGoodAgainWhereItWasNotNeeded() {
    String state = states.encrypt(content, "ada", CALL);
    RequestStates.Opened opened = states.open(state, "ada", CALL);
    opened.use("make a new call");

    opened.release();

    assertThat(open(state, "ada", CALL)).isEqualTo(content);
  }

  @Test
  void oneThatWasNotClaimedIsGivenUpWithoutTheStore() {
    try (StoreBus store = new StoreBus()) {
      RequestStates shared =
          new RequestStates(TestHandles.ofStore("here"), store.join(), now::get, 3);
      RequestStates.Opened opened = shared.open(shared.encrypt(content, "ada", CALL), "ada", CALL);
      opened.use("make a new call");

      opened.release();

      assertThat(store.givenUp).isFalse();
    }
  }

  @Test
  void whateverIsChangedInItIsRefused() {
    String state = states.encrypt(content, "ada", CALL);

    for (int i = 0; i < state.length(); i += 7) {
      char other = state.charAt(i) == 'A' ? 'B' : 'A';
      refuses(state.substring(0, i) + other + state.substring(i + 1), "ada", CALL, "requestState");
    }
    refuses(state + "-TAMPERED", "ada", CALL, "requestState");
    refuses("", "ada", CALL, "requestState");
    refuses("?", "ada", CALL, "requestState");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "not base64!",
        "abcdefghijklmnop",
        "abcdefghijklmnopq",
        "abcdefghijklmnopqr",
        "123e4567-e89b-12d3-a456-426614174000",
        "123e4567-e89b-12d3-a456-426614174000a",
        "123e4567-e89b-12d3-a456-426614174000ab"
      })
  void whatIsTooShortForOneIsRefused(String text) {
    refuses(text, "ada", CALL, "make a new call");
  }

  @Test
  void itExpires() {
    String state = states.encrypt(content, "ada", CALL);

    now.addAndGet(RequestStates.LIFETIME.toMillis());

    refuses(state, "ada", CALL, "expired");
  }
}
