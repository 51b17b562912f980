package io.fermata.session.key;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.session.call.ToolUse;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class SessionKeyTest {
  private static final byte[] SALT = new byte[32];

  private static String place(SessionKey key) {
    return SessionKey.placeOf(key.entityId());
  }

  @Test
  void anEntitysNameSaysWhetherARunOrAThreadLivesThere() {
    String run = new SessionKey("anna", "trip", "s1").entityId();
    assertThat(SessionKey.flowOf(run)).isEqualTo("trip");
    assertThat(SessionKey.agentOf(run)).isNull();
    String thread = SessionKey.threadOf("support", "t1");
    assertThat(thread).isEqualTo("agent:support|t1");
    assertThat(SessionKey.agentOf(thread)).isEqualTo("support");
  }

  @Test
  void aRunsNameSaysWhereItLives() {
    String entity = new SessionKey("anna", "trip", "s1").entityId();
    assertThat(SessionKey.entityOf("trip", SessionKey.newRunId(entity, 0))).isEqualTo(entity);
  }

  @Test
  void theRunsOfASessionSortAsTheyBegan() {
    List<String> ids =
        Stream.of(0L, 1L, 9L, 35L, 36L, 1_295L, 1_296L, 1_000_000L, Long.MAX_VALUE)
            .map(seq -> SessionKey.newRunId("trip|s1", seq))
            .toList();
    assertThat(ids).isSorted();
  }

  @Test
  void whatBelongsToAPrincipalIsFoundByTheBeginningOfItsName() {
    String anna = SessionKey.ownerOf("anna");
    assertThat(place(new SessionKey("anna", "trip", "s1"))).startsWith(anna);
    assertThat(place(new SessionKey("anna", "quote", "s2"))).startsWith(anna);
    assertThat(ThreadKey.random("desk", "anna").secret()).startsWith(anna);
    assertThat(ThreadKey.named("desk", "anna", "k", SALT).secret()).startsWith(anna);
    assertThat(place(new SessionKey("bob", "trip", "s1"))).doesNotStartWith(anna);
  }

  @Test
  void theSameSessionOfAnotherFlowHasTheSamePlace() {
    assertThat(place(new SessionKey("anna", "trip", "s1")))
        .isEqualTo(place(new SessionKey("anna", "quote", "s1")));
  }

  @Test
  void whatAThreadCreatesAndCallsIsFoundByTheThreadAndByItsPrincipal() {
    ThreadKey thread = ThreadKey.random("desk", "anna");
    ThreadKey child = ThreadKey.child(thread, "worker", "c1", SALT);
    String session = new ToolUse("pay", thread.threadId(), "c2").session();
    String run = place(new SessionKey(SessionKey.TOOLS, "pay", session));

    assertThat(thread.family()).startsWith(SessionKey.ownerOf("anna"));
    assertThat(child.secret()).startsWith(thread.family());
    assertThat(run).startsWith(thread.family());
    assertThat(child.family()).startsWith(SessionKey.ownerOf("anna"));
    assertThat(child.family()).isNotEqualTo(thread.family());
  }
}
