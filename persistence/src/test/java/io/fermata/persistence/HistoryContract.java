package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.read.ListAppender;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.JournalContract;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Note.Plan;
import io.fermata.persistence.contract.Notebook;
import io.fermata.persistence.memory.DirectoryContract;
import io.fermata.persistence.pekko.StoreJournals;
import io.fermata.persistence.pekko.StoreSetup;
import io.fermata.persistence.postgres.PostgresClaimTest;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Written;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What every store promises that keeps the history of its journals and can list them. */
public abstract class HistoryContract extends JournalContract {

  @Test
  void whatWasWrittenAfterARecordIsListedInTheOrderOfItsNumbers() {
    try (Host host = Host.on(store())) {
      assertThat(Host.await(host.store().newest())).isEqualTo(0);
      host.open("a").write(new Line("one"));
      long before = Host.await(host.store().newest());
      host.open("b").write(new Line("two")).write(new Line("three"));
      host.open("c").write(new Line("four"));
      List<Written> written = Host.await(host.store().written(before, 10));
      assertThat(written.stream().map(Written::persistenceId).distinct()).containsExactly("b", "c");
      assertThat(written.get(written.size() - 1).number())
          .isEqualTo(Host.await(host.store().newest()));
      List<Written> first = Host.await(host.store().written(0, 1));
      assertThat(first).extracting(Written::persistenceId).containsExactly("a");
      assertThat(Host.await(host.store().written(first.get(0).number(), 10))).isEqualTo(written);
    }
  }

  @Test
  void theNumberOfADeletedRecordIsNotUsedAgain() {
    long last;
    try (Host host = Host.on(store())) {
      host.open("a").write(new Line("one"));
      host.open("b").write(new Line("two"));
      last = Host.await(host.store().newest());
      host.forget("b");
    }
    try (Host host = Host.on(store())) {
      host.open("c").write(new Line("three"));
      assertThat(Host.await(host.store().written(last, 10)))
          .extracting(Written::persistenceId)
          .containsExactly("c");
    }
  }

  @Test
  void aJournalOfManyPagesIsRecoveredAsItWasWritten() {
    List<Line> lines = lines(2_500);
    try (Host host = Host.on(store())) {
      host.open("a").writeTogether(lines);
    }
    try (Host host = Host.on(store())) {
      assertThat(host.open("a").lines()).isEqualTo(lines.stream().map(Line::text).toList());
    }
    try (Host host = Host.on(store())) {
      assertThat(host.open("a").write(new Line("more")).lines()).hasSize(2_501);
    }
  }

  @Test
  void aJournalThatIsSweptBetweenItsPagesIsReadAgain() {
    try (Host host = Host.on(store())) {
      host.open("a").writeTogether(lines(1_500)).write(new Conclusion("over"));
    }
    Logger logger = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    logger.addAppender(logged);
    try (Host host = Host.over(sweepingAfterEachPage(store().open()))) {
      CompletionStage<Long> cutOff = host.open("a").attempt(new Line("lost"));
      assertThatThrownBy(() -> Host.await(cutOff))
          .hasRootCauseInstanceOf(Host.RefusedException.class);
      host.open("a").write(new Line("there"));
    } finally {
      logger.detachAppender(logged);
    }
    assertThat(List.copyOf(logged.list))
        .map(event -> ThrowableProxyUtil.asString(event.getThrowableProxy()))
        .anyMatch(why -> why.contains("The journal a was swept while it was read; retry"))
        .noneMatch(why -> why.contains("damaged"));
    try (Host host = Host.on(store())) {
      assertThat(host.open("a").lines()).containsExactly("over", "there");
    }
  }

  private static OpenStore sweepingAfterEachPage(OpenStore store) {
    StoreJournals journals = ((StoreSetup) store.setup()).journals();
    StoreJournals sweeping =
        proxy(
            StoreJournals.class,
            (proxy, method, arguments) -> {
              Object result = method.invoke(journals, arguments);
              return method.getName().equals("read")
                  ? ((CompletionStage<?>) result)
                      .thenCompose(page -> store.sweep(0).thenApply(swept -> page))
                  : result;
            });
    return proxy(
        OpenStore.class,
        (proxy, method, arguments) ->
            method.getName().equals("setup")
                ? new StoreSetup(sweeping)
                : method.invoke(store, arguments));
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  @Test
  void journalsAreListedEachOnceAndPageByPage() {
    try (Host host = Host.on(store())) {
      for (String name : List.of("c", "a", "b")) {
        host.open(name).write(new Line("one"), new Line("two")).write(new Line("three"));
      }
      assertThat(Host.await(host.store().journals("", 2))).containsExactly("a", "b");
      assertThat(Host.await(host.store().journals("b", 2))).containsExactly("c");
      assertThat(Host.await(host.store().journals("c", 2))).isEmpty();
      Host.await(host.store().delete(List.of("b")));
      assertThat(Host.await(host.store().journals("", 10))).containsExactly("a", "c");
    }
  }

  @Test
  void aSweepLeavesOnlyTheEndOfEachRun() {
    try (Host host = Host.on(store())) {
      host.openWithSnapshots("a")
          .write(new Line("one"))
          .write(new Plan("two"))
          .write(new Line("three"))
          .write(new Conclusion("over"));
      host.open("b").write(new Line("still going"));

      assertThat(host.sweep()).isEqualTo(1);
      assertThat(records("a")).containsExactly(4L);
      assertThat(records("b")).containsExactly(1L);
      assertThat(snapshots("a")).allMatch(sequenceNr -> sequenceNr >= 4);
    }
  }

  @Test
  void aSecondSweepFindsNothing() {
    try (Host host = Host.on(store())) {
      host.open("a").write(new Line("one")).write(new Conclusion("over"));

      assertThat(host.sweep()).isEqualTo(1);
      assertThat(host.sweep()).isZero();
      assertThat(records("a")).containsExactly(2L);
    }
  }

  @Test
  void aSweepKeepsWhatWasWrittenAfterTheEnd() {
    try (Host host = Host.on(store())) {
      host.open("a")
          .write(new Line("one"))
          .write(new Conclusion("first run over"))
          .write(new Line("again"))
          .write(new Conclusion("second run over"))
          .write(new Plan("and again"));

      assertThat(host.sweep()).isEqualTo(1);
      assertThat(records("a")).containsExactly(4L, 5L);
      assertThat(host.working()).containsExactly("a");
    }
  }

  @Test
  void aJournalIsKeptUntilItsTimeHasComeHoweverOftenTheStoreIsOpened() {
    try (Host host = Host.on(store())) {
      host.openWithSnapshots("a")
          .write(new Line("one"))
          .write(new Line("two"))
          .write(new Conclusion("over", 50, 100));

      assertThat(host.sweep(49)).isZero();
      assertThat(records("a")).containsExactly(1L, 2L, 3L);
    }
    try (Host host = Host.on(store())) {
      assertThat(host.sweep(49)).isZero();
      assertThat(host.sweep(50)).isEqualTo(1);
      assertThat(records("a")).containsExactly(3L);
      assertThat(snapshots("a")).isEmpty();
      assertThat(host.sweep(99)).isZero();
    }
  }

  @Test
  void whatBeganAfterAnEndKeepsNeitherItNorWhatLiesBeforeItAndStays() {
    try (Host host = Host.on(store())) {
      host.openWithSnapshots("a")
          .write(new Line("one"))
          .write(new Conclusion("first run over", 50, 60))
          .write(new Line("again"))
          .write(new Line("and again"));

      assertThat(host.sweep(49)).isZero();
      assertThat(records("a")).containsExactly(1L, 2L, 3L, 4L);
      assertThat(host.sweep(59)).isEqualTo(1);
      assertThat(records("a")).containsExactly(2L, 3L, 4L);
      assertThat(host.sweep(70)).isEqualTo(1);
      assertThat(records("a")).containsExactly(3L, 4L);
      assertThat(snapshots("a")).isEmpty();
      assertThat(host.sweep(70)).isZero();
      host.desk("b").write(new Line("of b"));
      assertThat(host.open("a").lines()).containsExactly("again", "and again");
    }
  }

  @Test
  void endsThatHaveExpiredAreForgottenTogetherWithWhatWasPromisedLessTime() {
    try (Host host = Host.on(store())) {
      host.open("a")
          .write(new Conclusion("first run over", 0, 20))
          .write(new Line("two"))
          .write(new Conclusion("second run over", 0, 30))
          .write(new Line("three"));
      host.open("b")
          .write(new Conclusion("first run over", 0, 20))
          .write(new Line("two"))
          .write(new Conclusion("second run over", 60, 60))
          .write(new Line("three"))
          .write(new Conclusion("third run over", 30, 30))
          .write(new Line("four"));

      assertThat(host.sweep(40)).isEqualTo(2);
      assertThat(records("a")).containsExactly(4L);
      assertThat(records("b")).containsExactly(2L, 3L, 4L, 5L, 6L);
      assertThat(host.sweep(60)).isEqualTo(1);
      assertThat(records("b")).containsExactly(6L);
    }
    try (Host host = Host.on(store())) {
      assertThat(host.open("b").write(new Line("five")).lines()).containsExactly("four", "five");
    }
  }

  @Test
  void anEndWaitsForAnEarlierOneThatWasPromisedMoreTime() {
    try (Host host = Host.on(store())) {
      host.open("a")
          .write(new Line("one"))
          .write(new Conclusion("first run over", 0, 200))
          .write(new Line("two"))
          .write(new Conclusion("second run over", 90, 200))
          .write(new Line("three"))
          .write(new Conclusion("third run over", 10, 20));
      host.open("b").write(new Line("one")).write(new Conclusion("over", 10, 20));

      assertThat(host.sweep(50)).isPositive();
      assertThat(records("a")).containsExactly(2L, 3L, 4L, 5L, 6L);
      assertThat(records("b")).isEmpty();
      assertThat(host.sweep(89)).isZero();
    }
    try (Host host = Host.on(store())) {
      assertThat(host.sweep(89)).isZero();
      assertThat(records("a")).containsExactly(2L, 3L, 4L, 5L, 6L);
      assertThat(host.sweep(90)).isPositive();
      assertThat(records("a")).isEmpty();
    }
  }

  @Test
  void anEndIsForgottenWithAllThatIsKnownOfItWhenItsTimeHasCome() {
    try (Host host = Host.on(store())) {
      host.open("a").write(new Line("one")).write(new Conclusion("over", 50, 100));
      host.open("b").write(new Conclusion("over", 0, 101));
      Host.await(host.store().directory().put(DirectoryContract.entry("a")));
    }
    try (Host host = Host.on(store())) {
      assertThat(host.sweep(100)).isPositive();
      assertThat(records("a")).isEmpty();
      assertThat(records("b")).containsExactly(1L);
      assertThat(Host.await(host.store().directory().get("a"))).isEmpty();
      assertThat(host.open("a").write(new Line("anew")).content())
          .isEqualTo(new Notebook.Content(List.of("anew"), 1));
    }
  }

  @Test
  void aRunThatBeginsWhileTheOneBeforeItIsForgottenIsRecovered() {
    try (Host host = Host.on(store())) {
      host.open("woken").write(new Line("one")).write(new Conclusion("over", 0, 9));
    }
    try (Host host = Host.on(store())) {
      Host.Desk awake = host.open("awake").write(new Line("one"), new Conclusion("over", 0, 9));
      Host.Desk woken = host.open("woken");
      assertThat(woken.lines()).containsExactly("over");
      assertThat(host.sweep(9)).isPositive();
      assertThat(records("awake")).isEmpty();
      assertThat(records("woken")).isEmpty();
      awake.write(new Line("again")).write(new Line("and again"));
      woken.write(new Line("again")).write(new Line("and again"));
    }
    try (Host host = Host.on(store())) {
      for (String id : List.of("awake", "woken")) {
        assertThat(host.open(id).lines()).endsWith("again", "and again");
        assertThat(records(id)).containsExactly(3L, 4L);
      }
    }
  }

  @Test
  void journalsAreFoundByTheirNamesBehindTheFirstBar() {
    try (Host host = Host.on(store())) {
      for (String id :
          List.of("trip|annA1", "trip|annB2", "quote|annA1", "agent:x|annC3", "tri|annD4")) {
        host.open(id).write(new Line("said"));
      }
      for (String id : List.of("trip|bob1", "trip|ann", "annA", "annA1|trip", "trip_|anm")) {
        host.open(id).write(new Line("said"));
      }
      Host.await(host.store().directory().put(DirectoryContract.entry("gone|annE5")));

      assertThat(Host.await(host.store().journals("annA")))
          .containsExactly("quote|annA1", "trip|annA1");
      assertThat(Host.await(host.store().journals("ann")))
          .containsExactlyInAnyOrder(
              "agent:x|annC3",
              "gone|annE5",
              "quote|annA1",
              "tri|annD4",
              "trip|ann",
              "trip|annA1",
              "trip|annB2");
      assertThat(Host.await(host.store().journals("nobody"))).isEmpty();
    }
  }

  @Test
  void aJournalGoesOnBehindEventsAndSnapshotsThatItsActorDeletes() {
    try (Host host = Host.on(store())) {
      Host.Desk desk = host.openDeleting("a");
      IntStream.rangeClosed(1, 6).forEach(line -> desk.write(new Line("line " + line)));
      PostgresClaimTest.await(() -> Set.copyOf(snapshots("a")).equals(Set.of(4L, 6L)));
      assertThat(records("a")).containsExactly(5L, 6L);
    }
    try (Host host = Host.on(store())) {
      Host.Desk desk = host.openDeleting("a").write(new Line("line 7"));
      assertThat(desk.content().sequenceNr()).isEqualTo(7);
      assertThat(desk.lines()).hasSize(7).startsWith("line 1").endsWith("line 7");
    }
  }

  @Test
  void whatACrashLeftUnsweptIsSweptAfterTheRestart() {
    try (Host host = Host.on(store())) {
      host.open("a").write(new Line("one")).write(new Conclusion("over"));
    }
    try (Host host = Host.on(store())) {
      assertThat(host.sweep()).isEqualTo(1);
      assertThat(host.open("a").content()).isEqualTo(new Notebook.Content(List.of("over"), 2));
    }
  }
}
