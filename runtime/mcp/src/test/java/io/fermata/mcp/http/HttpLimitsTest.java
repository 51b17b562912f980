package io.fermata.mcp.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.json.Limits;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class HttpLimitsTest {
  @Test
  void aSettingOfATimeThatNoClockCanCountIsRefusedAndNamesItself() {
    HttpLimits longest = HttpLimits.DEFAULT.requestTimeout(Limits.CLOCK).idleTimeout(Limits.CLOCK);
    assertThat(Objects.requireNonNull(longest.responseTimeout()).toNanos()).isPositive();

    Duration endless = Duration.ofSeconds(Long.MAX_VALUE);
    assertThatThrownBy(() -> HttpLimits.DEFAULT.idleTimeout(endless))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("idleTimeout is " + endless + "; give it at most 36500 days");
    assertThatThrownBy(() -> HttpLimits.DEFAULT.requestTimeout(endless))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("requestTimeout is ");
  }
}
