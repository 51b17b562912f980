package io.fermata.bench.crash;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;

import io.fermata.flow.Flow;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.Run;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * Books amounts one after the other until one is 0. Every booking writes a line into a file, and
 * the number of its attempt into the journal; then it is sealed, at most once, with another line.
 */
final class LedgerFlow {
  record Ledger(
      @Describe("Amount to book; 0 ends") Integer amount,
      @Computed List<Integer> booked,
      @Computed List<Integer> attempts,
      @Computed List<Integer> sealed,
      @Computed Integer total) {}

  private static final long PROCESS = ProcessHandle.current().pid();

  private LedgerFlow() {}

  static Flow<Ledger> writingTo(Path effects) {
    return Flow.of("ledger", Ledger.class)
        .description("Books amounts.")
        .ask("ask_amount", q -> q.question("amount", "How much?"))
        .act("book", run -> book(run, effects))
        .act("seal", run -> seal(run, effects), EffectOptions::once)
        .act("sum", run -> run.set("total", sum(run.state())), EffectOptions::idempotent)
        .edge(START, "ask_amount")
        .edge("ask_amount", "book")
        .edge("book", "seal")
        .edge("seal", "sum")
        .decide("sum", d -> d.when("done", eq("amount", 0)).to(END).otherwise("ask_amount"))
        .result(ledger -> ledger)
        .compile();
  }

  private static void book(Run<Ledger> run, Path effects) {
    write(run, effects);
    run.append("booked", run.state().amount());
    run.append("attempts", run.attempt());
  }

  private static void seal(Run<Ledger> run, Path effects) {
    write(run, effects);
    run.append("sealed", run.state().amount());
  }

  private static void write(Run<Ledger> run, Path effects) {
    String line = new Execution(run.idempotencyKey(), run.attempt(), PROCESS) + "\n";
    try {
      Files.write(
          effects,
          line.getBytes(StandardCharsets.UTF_8),
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int sum(Ledger ledger) {
    return ledger.booked().stream().mapToInt(Integer::intValue).sum();
  }
}
