package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How a store is asked whether it answers. */
@Timeout(30)
class PingsTest {
  private final List<CompletableFuture<String>> asked = new ArrayList<>();

  private CompletionStage<?> ping() {
    CompletableFuture<String> answer = new CompletableFuture<>();
    asked.add(answer);
    return answer;
  }

  private static boolean got(CompletionStage<Boolean> answer) {
    return answer.toCompletableFuture().join();
  }

  @Test
  void whoComesMeanwhileSharesTheAnswerAndTheNextAsksAnew() {
    Pings pings = new Pings(this::ping, Duration.ofMinutes(1));
    List<CompletionStage<Boolean>> answers = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      answers.add(pings.answers());
    }
    assertThat(asked).hasSize(1);
    asked.get(0).complete("here");
    answers.forEach(answer -> assertThat(got(answer)).isTrue());

    CompletionStage<Boolean> next = pings.answers();
    assertThat(asked).hasSize(2);
    asked.get(1).completeExceptionally(new IllegalStateException("gone"));
    assertThat(got(next)).isFalse();
  }

  @Test
  void nobodyWaitsForAnAnswerThatDoesNotComeNorAsksBesideIt() {
    Pings pings = new Pings(this::ping, Duration.ofMillis(50));

    assertThat(got(pings.answers())).isFalse();
    assertThat(got(pings.answers())).isFalse();
    assertThat(asked).hasSize(1);

    asked.get(0).complete("late");
    pings.answers();
    assertThat(asked).hasSize(2);
  }

  @Test
  void anAnswerThatWasLostKeepsNobodyFromAskingForEver() throws Exception {
    Pings pings = new Pings(this::ping, Duration.ofMillis(5));

    while (asked.size() < 2) {
      assertThat(got(pings.answers())).isFalse();
      Thread.sleep(5);
    }
  }

  @Test
  void aStoreThatCannotBeAskedDoesNotAnswer() {
    Pings pings =
        new Pings(
            () -> {
              throw new IllegalStateException("closed");
            },
            Duration.ofMinutes(1));

    assertThat(got(pings.answers())).isFalse();
    assertThat(got(pings.answers())).isFalse();
  }
}
