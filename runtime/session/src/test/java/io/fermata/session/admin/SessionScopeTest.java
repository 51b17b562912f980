package io.fermata.session.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What belongs to sessions that are erased. */
class SessionScopeTest {
  private final ThreadKey thread = ThreadKey.random("desk", "ann");

  @Test
  void thePlaceOfAPrincipalHasTheFamiliesOfAllItsThreads() {
    SessionScope all = new SessionScope(Set.of(), Set.of(SessionKey.ownerOf("ann")));

    assertThat(all.withFamilies(List.of(thread.entityId()))).isEqualTo(all);
    assertThat(all.has(new ThreadKey("helper", thread.family() + "child").entityId())).isTrue();
  }

  @Test
  void aThreadBringsItsFamily() {
    SessionScope one = new SessionScope(Set.of(thread.entityId()), Set.of());

    assertThat(one.withFamilies(List.of(thread.entityId())).places())
        .containsExactly(thread.family());
  }
}
