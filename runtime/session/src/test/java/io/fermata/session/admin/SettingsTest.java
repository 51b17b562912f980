package io.fermata.session.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.json.Limits;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class SettingsTest {
  @Test
  void aSessionIsIdleForAMillisecondAtLeast() {
    assertThat(Settings.DEFAULT.idle(Duration.ofMillis(1)).idle()).isEqualTo(Duration.ofMillis(1));
    assertThatThrownBy(() -> Settings.DEFAULT.idle(Duration.ofNanos(3)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("idle must be at least a millisecond");
  }

  @Test
  void aSettingOfATimeThatNoClockCanCountIsRefusedAndNamesItself() {
    Settings longest = Settings.DEFAULT.idle(Limits.CLOCK).callDeadline(Limits.CLOCK);
    assertThat(longest.idle().toNanos()).isPositive();

    Duration endless = Duration.ofSeconds(Long.MAX_VALUE);
    assertThatThrownBy(() -> Settings.DEFAULT.idle(endless))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("idle is " + endless + "; give it at most 36500 days");
    assertThatThrownBy(() -> Settings.DEFAULT.callDeadline(Limits.CLOCK.plusNanos(1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("callDeadline is ");
  }
}
