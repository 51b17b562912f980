package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.Json;
import io.fermata.session.TestHandles;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What a call remembers in the hands of a client that may be anybody. */
class RequestStatesTest {
  private static final String CALL = call("{\"a\":1,\"b\":{\"c\":2,\"d\":3}}");

  private final AtomicLong now = new AtomicLong(1_000_000);
  private final RequestStates states = states("here");
  private final Inputs inputs =
      new Inputs(
          Json.object().put("name", "Ada"), Json.object(), TextNode.valueOf("what we agreed on"));

  private RequestStates states(String store) {
    return new RequestStates(TestHandles.ofStore(store), now::get, 3);
  }

  private static String call(String arguments) {
    return RequestStates.call("tools/call", "pay", (ObjectNode) Json.parse(arguments));
  }

  private Inputs open(String state, String principal, String call) {
    return states.open(state, Json.object(), principal, call);
  }

  private void refuses(String state, String principal, String call, String why) {
    assertThatThrownBy(() -> open(state, principal, call))
        .isInstanceOf(Refusal.class)
        .hasMessageContaining(why);
  }

  @Test
  void itComesBackAsItWasAndCannotBeRead() {
    String state = states.seal(inputs, "ada", CALL);

    assertThat(state).doesNotContain("Ada", "agreed");
    Inputs back = open(state, "ada", CALL);
    assertThat(back.replies()).isEqualTo(inputs.replies());
    assertThat(back.remembered()).isEqualTo(inputs.remembered());
  }

  @Test
  void itOutlivesARestartOfTheServer() {
    String state = states("here").seal(inputs, "ada", CALL);

    assertThat(open(state, "ada", CALL).replies()).isEqualTo(inputs.replies());
  }

  @Test
  void itIsOfOnePrincipalAndOneCall() {
    String state = states.seal(inputs, "ada", CALL);

    refuses(state, "bob", CALL, "make the call anew");
    refuses(state, "ada", call("{\"a\":2,\"b\":{\"c\":2,\"d\":3}}"), "make the call anew");
    refuses(states("elsewhere").seal(inputs, "ada", CALL), "ada", CALL, "make the call anew");
  }

  @Test
  void theOrderOfArgumentsDoesNotMatter() {
    String state = states.seal(inputs, "ada", CALL);

    assertThat(open(state, "ada", call("{\"b\":{\"d\":3,\"c\":2},\"a\":1}")).replies()).hasSize(1);
  }

  @Test
  void itIsTakenBackOnce() {
    String state = states.seal(inputs, "ada", CALL);

    open(state, "ada", CALL);

    refuses(state, "ada", CALL, "used before");
  }

  @Test
  void whateverIsChangedInItIsRefused() {
    String state = states.seal(inputs, "ada", CALL);

    for (int i = 0; i < state.length(); i += 7) {
      char other = state.charAt(i) == 'A' ? 'B' : 'A';
      refuses(state.substring(0, i) + other + state.substring(i + 1), "ada", CALL, "requestState");
    }
    refuses(state + "-TAMPERED", "ada", CALL, "requestState");
    refuses("", "ada", CALL, "requestState");
    refuses("?", "ada", CALL, "requestState");
  }

  @Test
  void itExpires() {
    String state = states.seal(inputs, "ada", CALL);

    now.addAndGet(RequestStates.LIFETIME.toMillis());

    refuses(state, "ada", CALL, "expired");
  }
}
