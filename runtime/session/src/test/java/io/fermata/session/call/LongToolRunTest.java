package io.fermata.session.call;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.lt;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.FlowTool;
import io.fermata.flow.Flow;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.persistence.pekko.StoreJournals;
import io.fermata.persistence.pekko.StoreSetup;
import io.fermata.session.AlteredStore;
import io.fermata.session.Fermata;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Settings;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A run of a tool may be as long as any other. */
@Tag("slow")
@Timeout(300)
class LongToolRunTest {
  private static final int SLEEPS = 1_000;
  private static final int EVERY = 100;
  private static final String TOKEN = "tok-Geheim-1";

  private static final KeyProvider KEYS = DataKeys.parse(DataKeys.generate("k1"));

  record Watch(@Nullable Integer looks, @Nullable String verdict) {}

  @TempDir Path directory;

  /** How many entries sessions have read to wake. */
  private final AtomicLong read = new AtomicLong();

  private Fermata host(FlowTool tool, int snapshotEvery) {
    return Fermata.host()
        .store(counting(Store.sqlite(directory.resolve("tools.db"))))
        .settings(Settings.DEFAULT.snapshotEvery(snapshotEvery))
        .keys(KEYS)
        .tool(tool)
        .start();
  }

  private Store counting(Store store) {
    return AlteredStore.of(
        store,
        request ->
            request.is("setup")
                ? new StoreSetup(
                    counting(((StoreSetup) Objects.requireNonNull(request.ask())).journals()))
                : request.ask());
  }

  private StoreJournals counting(StoreJournals journals) {
    return (StoreJournals)
        Proxy.newProxyInstance(
            StoreJournals.class.getClassLoader(),
            new Class<?>[] {StoreJournals.class},
            (proxy, method, given) -> {
              Object answer = method.invoke(journals, given);
              return method.getName().equals("read")
                  ? ((CompletionStage<?>) answer)
                      .whenComplete((page, failed) -> read.addAndGet(((List<?>) page).size()))
                  : answer;
            });
  }

  private static FlowTool watch() {
    Flow<Watch> flow =
        Flow.of("watch", Watch.class)
            .description("Looks again and again, and then asks what to think of it.")
            .sleep("rest", Duration.ofMillis(1))
            .act(
                "look",
                run -> run.set("looks", Objects.requireNonNullElse(run.state().looks(), 0) + 1),
                // What may be done once alone is journaled before it begins.
                EffectOptions::once)
            .ask("ask_verdict", q -> q.question("verdict", "What is your verdict?"))
            .edge(START, "rest")
            .edge("rest", "look")
            .decide(
                "look",
                d -> d.when("too early", lt("looks", SLEEPS)).to("rest").otherwise("ask_verdict"))
            .edge("ask_verdict", END)
            .compile();
    return FlowTool.of("watch", "Watches.", flow).resultMapper(FlowTool.Finished::narrative);
  }

  private static ToolOutcome got(CompletionStage<ToolOutcome> outcome) {
    try {
      return outcome.toCompletableFuture().get(120, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("No outcome came", e);
    }
  }

  @Test
  void aRunThatSleepsAThousandTimesIsWokenFromASnapshotAndReadsOnlyTheEntriesAfterIt() {
    ToolUse use = new ToolUse("watch", "thread-1", "1");
    Fermata host = host(watch(), EVERY);
    ToolOutcome asked = got(host.use(use, Json.object()));
    assertThat(asked).isInstanceOf(ToolOutcome.Paused.class);
    host.crash();
    read.set(0);
    try (Fermata next = host(watch(), EVERY)) {
      assertThat(got(next.again(use))).isEqualTo(asked);
      // The newest snapshot may have been under way when the process was lost.
      assertThat(read.get()).isLessThanOrEqualTo(2 * EVERY);
      ToolOutcome end = got(next.answer(use, "a1", Json.object().put("verdict", "fine")));
      assertThat(((ToolOutcome.Result) end).text())
          .startsWith("… earlier steps are left out\n")
          .contains("The client gave verdict = \"fine\".", "completed")
          .doesNotContain("began.");
    }
  }

  record Visit(@Computed @Secret @Nullable String token, @Nullable String ready) {}

  /** Has a token, and says it when it has it no more. */
  private static FlowTool visit() {
    Flow<Visit> flow =
        Flow.of("visit", Visit.class)
            .description("Visits.")
            .act("enter", run -> run.set("token", TOKEN))
            .act("leave", run -> run.delete("token"))
            .ask("ask_ready", q -> q.question("ready", "Ready?"))
            .act("report", run -> run.emit("entered", "with " + TOKEN))
            .edge(START, "enter")
            .edge("enter", "leave")
            .edge("leave", "ask_ready")
            .edge("ask_ready", "report")
            .edge("report", END)
            .compile();
    return FlowTool.of("visit", "Visits.", flow).resultMapper(FlowTool.Finished::narrative);
  }

  @Test
  void aSecretThatARunHadBeforeItsSnapshotIsNotInItsNarrative() {
    ToolUse use = new ToolUse("visit", "thread-1", "1");
    Fermata host = host(visit(), 1);
    assertThat(got(host.use(use, Json.object()))).isInstanceOf(ToolOutcome.Paused.class);
    host.close();
    try (Fermata next = host(visit(), 1)) {
      ToolOutcome end = got(next.answer(use, "a1", Json.object().put("ready", "yes")));
      assertThat(((ToolOutcome.Result) end).text())
          .startsWith("… earlier steps are left out\n")
          .contains("report emitted entered: \"with [redacted]\".")
          .doesNotContain(TOKEN);
    }
  }
}
