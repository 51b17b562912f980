package io.fermata.session.actor;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.event.Place;
import io.fermata.flow.event.Policy;
import io.fermata.flow.event.StepEffect;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.key.LogLabels;
import io.fermata.session.observe.Telemetry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.testkit.typed.javadsl.ManualTime;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What runs while the store fails: its actor stops, and the next one continues with it. */
@Tag("slow")
class EffectsTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(1);
  private static final StepEffect BOOK =
      new StepEffect(
          "r1",
          new Place("book", 1),
          StepEffect.Kind.ACT,
          null,
          1,
          null,
          Policy.DEFAULT.timeout(TIMEOUT));
  private static final DispatcherSelector HERE =
      DispatcherSelector.fromConfig("pekko.test.calling-thread-dispatcher");

  /** What publishes the progress of the effect. */
  private final CompletableFuture<Consumer<ToolProgress>> progress = new CompletableFuture<>();

  /** Whether the effect is cancelled. */
  private final CompletableFuture<BooleanSupplier> cancelled = new CompletableFuture<>();

  /** Never has a result. */
  private final Effects.Performer<StepEffect, String> hanging =
      new Effects.Performer<>() {
        @Override
        public CompletionStage<String> perform(
            StepEffect effect, Consumer<ToolProgress> listener, BooleanSupplier unwanted) {
          progress.complete(listener);
          cancelled.complete(unwanted);
          return new CompletableFuture<>();
        }

        @Override
        public String failed(StepEffect effect, Throwable thrown) {
          return "failed";
        }

        @Override
        public Telemetry.Effect described(StepEffect effect) {
          throw new UnsupportedOperationException();
        }

        @Override
        public String described(String result) {
          return result;
        }

        @Override
        public LogLabels labels(StepEffect effect) {
          return LogLabels.on();
        }
      };

  private final ActorTestKit kit = ActorTestKit.create(ManualTime.config());
  private final TimeOfOneThread time = new TimeOfOneThread(kit);
  private final ExecutorService threads = Executors.newSingleThreadExecutor();

  /** What the first actor gets is lost with it. */
  private final Effects<StepEffect, String> effects = ofFirstActor();

  private final List<SessionCommand> secondGot = new ArrayList<>();

  @AfterEach
  void stop() {
    threads.shutdownNow();
    kit.shutdownTestKit();
  }

  private Effects<StepEffect, String> ofFirstActor() {
    CompletableFuture<Effects<StepEffect, String>> created = new CompletableFuture<>();
    spawn(
        (self, timers) -> created.complete(new Effects<>(threads, Telemetry.NONE, timers, self)),
        new ArrayList<>());
    return created.join();
  }

  private void continueInSecondActor() {
    spawn(
        (self, timers) -> {
          effects.moveTo(self, timers);
          effects.deliverAgain();
        },
        secondGot);
  }

  private void spawn(
      BiConsumer<ActorRef<SessionCommand>, TimerScheduler<SessionCommand>> begins,
      List<SessionCommand> got) {
    Behavior<SessionCommand> actor =
        Behaviors.setup(
            context ->
                Behaviors.withTimers(
                    timers -> {
                      begins.accept(context.getSelf(), timers);
                      return Behaviors.receiveMessage(
                          message -> {
                            got.add(message);
                            return Behaviors.same();
                          });
                    }));
    kit.spawn(actor, HERE);
  }

  private void start() {
    effects.start(BOOK, hanging, false, 0);
  }

  private void awaitThreads() throws Exception {
    threads.submit(() -> {}).get();
  }

  @Test
  void aRunningEffectTimesOutAlsoIfTheActorThatItToldOfItsStartIsGone() throws Exception {
    start();
    awaitThreads();
    continueInSecondActor();
    assertThat(effects.keys()).containsExactly(BOOK.key());
    time.pass(TIMEOUT);
    assertThat(secondGot).containsExactly(new SessionCommand.EffectTimedOut(BOOK.key()));
  }

  @Test
  void theTimeThatAnEffectWaitsForAThreadDoesNotCountForTheNextActorEither() throws Exception {
    CompletableFuture<Void> free = new CompletableFuture<>();
    threads.execute(free::join);
    start();
    continueInSecondActor();
    time.pass(TIMEOUT.multipliedBy(2));
    assertThat(secondGot).isEmpty();
    free.complete(null);
    awaitThreads();
    assertThat(secondGot).containsExactly(new SessionCommand.EffectStarted(BOOK.key()));
  }

  @Test
  void anEffectThatIsNoLongerWantedKnowsIt() {
    start();
    effects.retain(List.of(BOOK));
    assertThat(cancelled.join().getAsBoolean()).isFalse();

    effects.retain(List.of());

    assertThat(cancelled.join().getAsBoolean()).isTrue();
  }

  private void publish(String piece) {
    progress.join().accept(ToolProgress.text("book", piece));
  }

  private List<String> fetched() {
    return effects.progress(BOOK.key()).stream().map(ToolProgress::piece).toList();
  }

  @Test
  void progressIsAnnouncedOnceUntilItIsFetched() throws Exception {
    start();
    awaitThreads();
    continueInSecondActor();
    publish("a");
    publish("b");
    assertThat(fetched()).containsExactly("a", "b");
    publish("c");
    assertThat(fetched()).containsExactly("c");
    SessionCommand progressed = new SessionCommand.Progressed(BOOK.key());
    assertThat(secondGot).containsExactly(progressed, progressed);
  }

  @Test
  void progressThatNobodyListensToIsNotKept() throws Exception {
    start();
    awaitThreads();
    publish("a");
    effects.mute();
    publish("b");
    continueInSecondActor();
    assertThat(fetched()).isEmpty();
    publish("c");
    assertThat(fetched()).containsExactly("c");
    effects.expire(BOOK.key());
    publish("d");
    assertThat(secondGot).containsExactly(new SessionCommand.Progressed(BOOK.key()));
  }
}
