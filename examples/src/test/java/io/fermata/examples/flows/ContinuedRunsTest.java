package io.fermata.examples.flows;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.ExportedJournal;
import io.fermata.testkit.AskedEffect;
import io.fermata.testkit.SessionProbe;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/**
 * Runs that were exported from the packaged server, which was killed in between, are cut after
 * every entry and continued by the real session actor. Their steps get the results that were
 * recorded; one that has none does not end.
 */
@Tag("slow")
class ContinuedRunsTest {
  private static final Path RUNS = Path.of("src/test/resources/runs");
  private static final Clock THEN =
      Clock.fixed(Instant.parse("2026-11-23T06:40:00Z"), ZoneOffset.UTC);
  private static final int[] ATTEMPTS = {1, 2, 3, 4};
  private static final List<CompletableFuture<Void>> CLOSING = new CopyOnWriteArrayList<>();

  private static final List<Flow<?>> FLOWS =
      List.of(
          QuoteFlow.create(),
          TableFlow.create(new RestaurantClient(URI.create("http://localhost:1")), THEN),
          TripFlow.create(new TravelAgency(), THEN),
          RefundFlow.create(new Orders(), RefundLedger.at(Path.of("no-ledger.txt"), Duration.ZERO)),
          Kitchen.soup());

  @TestFactory
  Stream<DynamicTest> atEveryEntryTheActorHasTheStateThatWasRecorded() throws IOException {
    return cuts()
        .map(
            cut ->
                DynamicTest.dynamicTest(
                    cut.toString(),
                    () ->
                        probing(
                            cut,
                            probe -> {
                              cut.actions().forEach(node -> probe.hangAt(node, ATTEMPTS));
                              probe.status();
                              same(cut.run(probe).state(), cut.until().state());
                              JsonNode status = probe.reply().structured().path("run");
                              assertThat(status.path("state"))
                                  .isEqualTo(cut.until().state().data());
                            })));
  }

  @TestFactory
  Stream<DynamicTest> continuedWithTheCallsThatWereRecordedItEndsAsItWasRecorded()
      throws IOException {
    return cuts()
        .map(
            cut ->
                DynamicTest.dynamicTest(
                    cut.toString(),
                    () ->
                        probing(
                            cut,
                            probe -> {
                              cut.plan(probe);
                              probe.again();
                              cut.later().forEach(entry -> call(probe, entry));
                              same(cut.run(probe).state(), cut.whole().state());
                            })));
  }

  /** A host whose step hangs gives it a while before it closes: they all do so side by side. */
  private static void probing(Cut cut, Consumer<SessionProbe> test) {
    SessionProbe probe = SessionProbe.from(cut.flow(), cut.until()).manualTime();
    try {
      test.accept(probe);
    } finally {
      CLOSING.add(CompletableFuture.runAsync(probe::close, task -> new Thread(task).start()));
    }
  }

  @AfterAll
  static void awaitClosed() {
    CLOSING.forEach(CompletableFuture::join);
  }

  private static void same(RunState now, RunState recorded) {
    assertThat(now.status()).isEqualTo(recorded.status());
    assertThat(now.data()).isEqualTo(recorded.data());
    assertThat(now.answers()).isEqualTo(recorded.answers());
    assertThat(now.places().keySet()).isEqualTo(recorded.places().keySet());
    assertThat(now.branches().keySet()).isEqualTo(recorded.branches().keySet());
  }

  private static void call(SessionProbe probe, JournalEntry<Event> entry) {
    Event first = entry.events().get(0);
    if (first instanceof Event.Answered answered) {
      probe.answer(pairs(answered.values()));
    } else if (first instanceof Event.Reset reset) {
      probe.reset(pairs(reset.corrected()));
    }
  }

  private static Object[] pairs(Map<String, JsonNode> values) {
    return values.entrySet().stream()
        .flatMap(each -> Stream.of(each.getKey(), each.getValue()))
        .toArray();
  }

  /** The runs, each cut after every entry. */
  private static Stream<Cut> cuts() throws IOException {
    List<Cut> cuts = new ArrayList<>();
    try (Stream<Path> files = Files.list(RUNS)) {
      for (Path file : files.sorted().toList()) {
        if (ExportedJournal.read(file) instanceof ExportedJournal.OfRun run) {
          run.journal().entries().forEach(entry -> cuts.add(new Cut(run.journal(), entry.seq())));
        }
      }
    }
    assertThat(cuts).extracting(cut -> cut.flow().id()).contains(ids());
    return cuts.stream();
  }

  private static String[] ids() {
    return FLOWS.stream().map(Flow::id).toArray(String[]::new);
  }

  /** A recorded run of which the entries after one are still to come. */
  private record Cut(RunJournal whole, long entry) {
    Flow<?> flow() {
      return FLOWS.stream().filter(f -> f.id().equals(whole.flow())).findFirst().orElseThrow();
    }

    /** Its nodes and their compensations. */
    Stream<String> actions() {
      return Stream.concat(flow().nodeIds().stream(), flow().compensationIds().stream());
    }

    RunJournal until() {
      return whole.upTo(entry);
    }

    List<JournalEntry<Event>> later() {
      return whole.entries().stream().filter(each -> each.seq() > entry).toList();
    }

    /** What the actor has written; its run has an id of its own. */
    RunJournal run(SessionProbe probe) {
      String runId = probe.reply().meta().path("fermata/run").path("runId").asText();
      return probe
          .host()
          .journals()
          .run(whole.flow(), runId)
          .readWithSecrets()
          .toCompletableFuture()
          .join();
    }

    void plan(SessionProbe probe) {
      for (String node : flow().nodeIds()) {
        if (committed(node, null) == null) {
          probe.hangAt(node, ATTEMPTS);
        }
        probe.instead(node, this::recorded);
      }
    }

    private Object[] recorded(AskedEffect asked) {
      String at = asked.key().substring(asked.key().indexOf('/') + 1);
      Place place = Place.parse(at);
      int before = flow().graph().step(place).scope().prefix(place).length();
      return Objects.requireNonNull(committed(asked.node(), at)).writes().stream()
          .flatMap(write -> Stream.of(write.path().substring(before), value(write)))
          .toArray();
    }

    private static Object value(Write write) {
      assertThat(write.verb()).isEqualTo(Write.Verb.SET);
      return Objects.requireNonNull(write.value());
    }

    private Event.@Nullable Committed committed(String node, @Nullable String place) {
      for (JournalEntry<Event> each : later()) {
        for (Event event : each.events()) {
          if (event instanceof Event.Committed committed
              && committed.place().node().equals(node)
              && (place == null || place.equals(committed.place().toString()))) {
            return committed;
          }
        }
      }
      return null;
    }

    @Override
    public String toString() {
      return whole.flow() + " after entry " + entry;
    }
  }
}
