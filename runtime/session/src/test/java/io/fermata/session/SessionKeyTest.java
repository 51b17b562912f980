package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SessionKeyTest {

  @Test
  void anEntitysNameTellsWhetherARunOrAThreadLivesThere() {
    String run = new SessionKey("anna", "trip", "s1").entityId();
    assertThat(SessionKey.flowOf(run)).isEqualTo("trip");
    assertThat(SessionKey.agentOf(run)).isNull();
    String thread = SessionKey.threadOf("support", "t1");
    assertThat(thread).isEqualTo("agent:support|t1");
    assertThat(SessionKey.agentOf(thread)).isEqualTo("support");
  }

  @Test
  void aRunsNameTellsWhereItLives() {
    String entity = new SessionKey("anna", "trip", "s1").entityId();
    assertThat(SessionKey.entityOf("trip", SessionKey.newRunId(entity))).isEqualTo(entity);
  }
}
