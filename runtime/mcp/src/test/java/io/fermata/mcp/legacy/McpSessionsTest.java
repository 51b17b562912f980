package io.fermata.mcp.legacy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.json.Json;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.rpc.RpcException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The remembered state of clients of older revisions. */
class McpSessionsTest {
  private final AtomicLong now = new AtomicLong();
  private final McpSessions sessions = new McpSessions(new FakeHost(), now::get, 10_000);

  private String open() {
    return sessions.open("ada", Json.object().put("known", true));
  }

  private boolean known(String session, String principal) {
    return sessions.require(session, principal).capabilities.has("known");
  }

  @Test
  void whatAClientDeclaredIsKnownToItsPrincipalAlone() {
    String session = open();

    assertThat(known(session, "ada")).isTrue();
    assertThat(known(session, "bob")).isFalse();
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
  void anIdleSessionIsForgotten() {
    String used = open();
    String idle = open();

    now.addAndGet(McpSessions.IDLE.toNanos());
    assertThat(known(used, "ada")).isTrue();
    now.addAndGet(1);
    open();

    assertThat(known(used, "ada")).isTrue();
    assertThat(known(idle, "ada")).isFalse();
  }

  @Test
  void theOldestAreForgottenWhereThereAreTooMany() {
    String first = open();
    String used = open();
    for (int i = 0; i < 9_998; i++) {
      open();
    }
    assertThat(known(used, "ada")).isTrue();
    open();

    assertThat(known(first, "ada")).isFalse();
    assertThat(known(used, "ada")).isTrue();
  }
}
