package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Json;
import io.fermata.flow.RunState;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class SessionStateTest {

  private static JournalRecord.Ended ended(
      String runId, long keptUntil, @Nullable List<JournalRecord.TaskEnd> earlier) {
    return new JournalRecord.Ended(
        1,
        runId,
        1,
        RunState.Status.COMPLETED,
        null,
        new JournalRecord.Reply(Json.object(), Json.object()),
        List.of(),
        false,
        null,
        null,
        1,
        keptUntil,
        true,
        earlier);
  }

  @Test
  void aTaskWhoseEndIsWrittenAgainWhenItIsToldIsKeptOnceAndForTheLongerTime() {
    SessionState once = SessionState.EMPTY.apply(ended("r", 100, null));
    SessionState again = once.apply(ended("r", 200, once.tasksAt(1)));

    assertThat(again.tasksAt(1)).hasSize(1);
    assertThat(again.taskEnd("r"))
        .isNotNull()
        .extracting(JournalRecord.TaskEnd::keptUntil)
        .isEqualTo(200L);
  }
}
