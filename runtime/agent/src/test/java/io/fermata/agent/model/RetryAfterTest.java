package io.fermata.agent.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpHeaders;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When a provider wants to be asked again, in all the ways in which providers say it. */
class RetryAfterTest {
  private static final Instant NOW = Instant.parse("2026-01-01T12:00:00Z");

  private static @Nullable Duration said(String header, String value) {
    return ModelHttp.retryAfter(
        HttpHeaders.of(Map.of(header, List.of(value)), (name, text) -> true), NOW);
  }

  @Test
  void itIsSaidInSeconds() {
    assertThat(said("Retry-After", "20")).isEqualTo(Duration.ofSeconds(20));
    assertThat(said("Retry-After", "0.5")).isEqualTo(Duration.ofMillis(500));
  }

  @Test
  void itIsSaidInMilliseconds() {
    assertThat(said("retry-after-ms", "250")).isEqualTo(Duration.ofMillis(250));
  }

  @Test
  void itIsSaidAsAMoment() {
    assertThat(said("Retry-After", "Thu, 1 Jan 2026 12:01:00 GMT"))
        .isEqualTo(Duration.ofMinutes(1));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "soon", "-3", "Thu, 1 Jan 2026 11:00:00 GMT", "12 o'clock"})
  void whatSaysNothingIsNothing(String value) {
    assertThat(said("Retry-After", value)).isNull();
  }
}
