package io.fermata.examples.flows;

import java.nio.file.Path;
import java.time.Duration;
import picocli.CommandLine.Option;

/** The model of the support desk, and where it books refunds. */
public final class DeskOptions extends ModelOptions {
  @Option(
      names = "--ledger",
      paramLabel = "FILE",
      defaultValue = "refunds.txt",
      description = "Where the desk books refunds; ${DEFAULT-VALUE} by default.")
  Path ledger = Path.of("refunds.txt");

  @Option(
      names = "--bank-takes",
      paramLabel = "MILLIS",
      defaultValue = "300",
      description =
          "How long the confirmation of a refund takes; ${DEFAULT-VALUE} by default. Leaves time to kill"
              + " the server in the middle.")
  int bankTakes = 300;

  @Option(
      names = "--follow-up",
      paramLabel = "DURATION",
      defaultValue = "P3D",
      description =
          "When a customer is asked whether a refund has arrived; ${DEFAULT-VALUE} by default.")
  Duration followUp = Duration.ofDays(3);

  public SupportDesk desk() {
    return SupportDesk.of(
        model(ScriptedDesk::model),
        RefundLedger.at(ledger, Duration.ofMillis(bankTakes)),
        followUp);
  }
}
