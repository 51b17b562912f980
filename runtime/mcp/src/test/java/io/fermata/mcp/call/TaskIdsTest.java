package io.fermata.mcp.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.session.call.TaskRun;
import io.fermata.session.key.TestHandles;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The ids of tasks. */
class TaskIdsTest {
  private static final TaskRun RUN = new TaskRun("ann", "cook", "abc_-.xyz");

  private final TaskIds ids = new TaskIds(TestHandles.ofStore("one"));
  private final String id = ids.mint(RUN, 1_700_000_000_000L).id();

  @Test
  void aNameSaysWhichRunItIsAndSinceWhenInEveryProcessWithTheStore() {
    TaskIds.Task read =
        Objects.requireNonNull(new TaskIds(TestHandles.ofStore("one")).read(id, "ann"));

    assertThat(read.run()).isEqualTo(RUN);
    assertThat(read.createdAt()).isEqualTo(1_700_000_000_000L);
    assertThat(id).matches("[ -~]{60,200}");
  }

  @Test
  void itIsGoodForNobodyElseAndInNoOtherStore() {
    assertThat(ids.read(id, "bob")).isNull();
    assertThat(ids.read(id, "")).isNull();
    assertThat(new TaskIds(TestHandles.ofStore("two")).read(id, "ann")).isNull();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", ":", ":::", "cook:abc_-.xyz:1:", "cook", "𝄐:𝄐:𝄐:𝄐"})
  void whatIsNoNameIsNone(String text) {
    assertThat(ids.read(text, "ann")).isNull();
  }

  @Test
  void noPartOfItCanBeChanged() {
    for (int i = 0; i < id.length(); i++) {
      char other = id.charAt(i) == 'a' ? 'b' : 'a';
      String changed = id.substring(0, i) + other + id.substring(i + 1);
      assertThat(ids.read(changed, "ann")).as(changed).isNull();
    }
    assertThat(ids.read(id + "a", "ann")).isNull();
    assertThat(ids.read("x".repeat(1_000), "ann")).isNull();
  }
}
