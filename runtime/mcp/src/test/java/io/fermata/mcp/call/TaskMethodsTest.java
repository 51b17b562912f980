package io.fermata.mcp.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.session.call.TaskView;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TaskMethodsTest {

  @ParameterizedTest
  @CsvSource({
    "BUSY, true",
    "STORE_UNAVAILABLE, true",
    "MOVED, true",
    "ROLLING_OUT, true",
    "DAMAGED, false",
    "KEY_MISSING, false"
  })
  void aTaskThatMovesIsThereAgainInAMoment(HostError error, boolean soon) {
    TaskView view =
        new TaskView(
            TaskView.Status.UNREACHABLE, ToolReply.refused(error), Map.of(), Instant.EPOCH, null);

    assertThat(TaskMethods.unavailable(view)).isEqualTo(soon);
  }
}
