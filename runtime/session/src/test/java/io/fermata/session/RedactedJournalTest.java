package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.flow.schema.Secret;
import io.fermata.persistence.Store;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.ExportSignature;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Retention;
import io.fermata.session.call.ToolCall;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An export is read without its key, but for what the key hides. */
class RedactedJournalTest {
  private static final String CARD = "4111-1111";
  private static final KeyProvider KEYS = DataKeys.parse(DataKeys.generate("k1"));
  private static final KeyProvider OTHER = DataKeys.parse(DataKeys.generate("k2"));

  record Order(@Secret String card, Integer seats, String receipt) {}

  @TempDir Path folder;

  private static Flow<Order> order() {
    return Flow.of("order", Order.class)
        .description("Sells seats.")
        .ask("ask_card", q -> q.question("card", "Which card?").question("seats", "How many?"))
        .act("pay", run -> run.set("receipt", "paid with " + run.state().card()))
        .edge(START, "ask_card")
        .edge("ask_card", "pay")
        .edge("pay", END)
        .compile();
  }

  private static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private Path exported(EncryptedFields encrypted) throws Exception {
    Path export = folder.resolve("order.jsonl");
    try (Fermata host =
            Fermata.host()
                .store(Store.memory())
                .keys(KEYS)
                .encrypt(encrypted)
                .retention(Retention.ofJournals(Duration.ofDays(1)))
                .flow(order())
                .start();
        OutputStream to = Files.newOutputStream(export)) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "to buy");
      start.putObject("stateUpdates").put("card", CARD).put("seats", 8);
      ObjectNode meta = Json.object().put("fermata/sessionId", "a");
      String run =
          now(host.call(new ToolCall("order", "ann", start, meta, null), progress -> {}))
              .meta()
              .at("/fermata~1run/runId")
              .asText();
      now(host.journals().run("order", run).export(to));
    }
    return export;
  }

  @Test
  void encryptedPartsAreRedactedAndTheRestIsToRead() throws Exception {
    RunJournal journal = ExportedJournal.read(exported(EncryptedFields.SECRETS), OTHER).run();

    assertThat(journal.redacted()).isTrue();
    assertThat(journal.state().data().path("card").asText()).isEqualTo("[redacted]");
    assertThat(journal.state().data().path("seats").asInt()).isEqualTo(8);
    assertThat(journal.narrative(order())).contains("began, because: \"to buy\"", "completed");
    assertThat(journal.why(order(), "receipt").toString()).contains("pay");
    assertThat(journal.picture(order()).svg()).contains("<svg");
    assertThat(journal.upTo(1).redacted()).isTrue();
  }

  @Test
  void itCannotBeDecidedAgain() throws Exception {
    Path export = exported(EncryptedFields.SECRETS);
    RunJournal journal = ExportedJournal.read(export, OTHER).run();

    assertThatThrownBy(() -> Replay.of(order(), journal))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("was read without the key")
        .hasMessageContaining("Configure that key, or record the run");
    assertThatThrownBy(
            () -> WhatIf.of(order()).over(List.of(ExportedJournal.read(export)).iterator()))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("was read without the key");
    assertThat(Replay.of(order(), ExportedJournal.read(export, KEYS).run()).same()).isTrue();
  }

  @Test
  void entriesThatAreEncryptedAsAWholeAreCounted() throws Exception {
    Path export = exported(EncryptedFields.EVERYTHING);
    RunJournal whole = ExportedJournal.read(export, KEYS).run();
    RunJournal journal = ExportedJournal.read(export, OTHER).run();

    assertThat(journal.redacted()).isTrue();
    assertThat(journal.entries()).hasSizeGreaterThanOrEqualTo(whole.entries().size());
    assertThat(journal.entries()).allMatch(entry -> entry.by().equals("encrypted"));
    assertThat(journal.runId()).isEqualTo(whole.runId());
    assertThat(journal.narrative(order())).contains("Entry 1").contains("encrypted with a key");
    assertThat(journal.toString()).contains("order");
  }

  @Test
  void anExportSaysWhoSignedItAndWhetherThatIsVerified() throws Exception {
    Path export = exported(EncryptedFields.SECRETS);

    ExportedJournal verified = ExportedJournal.read(export, KEYS);
    ExportedJournal unverified = ExportedJournal.read(export, OTHER);
    ExportedJournal.acceptEdits(export);
    ExportedJournal edited = ExportedJournal.read(export, KEYS);

    assertThat(List.of(verified, unverified, edited))
        .extracting(ExportedJournal::signature)
        .containsExactly(
            ExportSignature.VERIFIED, ExportSignature.NOT_VERIFIED, ExportSignature.UNSIGNED);
    assertThat(verified.signedBy()).isNotNull().isEqualTo(unverified.signedBy());
    assertThat(edited.signedBy()).isNull();
  }

  @Test
  void aJournalThatWasCutSaysSo() throws Exception {
    RunJournal journal = ExportedJournal.read(exported(EncryptedFields.SECRETS), KEYS).run();
    long last = journal.entries().get(journal.entries().size() - 1).seq();

    assertThat(journal.cut()).isFalse();
    assertThat(journal.upTo(last)).isEqualTo(journal);
    assertThat(journal.upTo(last - 1).cut()).isTrue();
    assertThat(journal.upTo(last - 1).upTo(last).cut()).as("what was cut stays so").isTrue();
    assertThat(journal.upTo(last - 1)).asString().endsWith("cut there");
  }

  @Test
  void anAlteredOneIsRefusedAllTheSame() throws Exception {
    Path export = exported(EncryptedFields.SECRETS);
    Files.writeString(export, Files.readString(export).replace("to buy", "to pay"));

    assertThatThrownBy(() -> ExportedJournal.read(export, OTHER).run())
        .isInstanceOf(ArchiveException.class)
        .hasMessageContaining("was altered");
  }

  @Test
  void oneWhoseEntriesDoNotFollowEachOtherIsRefusedAllTheSame() throws Exception {
    Path export = exported(EncryptedFields.EVERYTHING);
    List<String> lines = new ArrayList<>(Files.readAllLines(export));
    lines.add(1, lines.get(1));
    Files.write(export, lines);
    ExportedJournal.acceptEdits(export);

    assertThatThrownBy(() -> ExportedJournal.read(export, OTHER))
        .isInstanceOf(ArchiveException.class)
        .hasMessageContaining("record 1 follows record 1");
  }

  @Test
  void aRunIsNotReadAsAThread() throws Exception {
    ExportedJournal export = ExportedJournal.read(exported(EncryptedFields.SECRETS), OTHER);

    assertThatThrownBy(export::thread)
        .isInstanceOf(ArchiveException.class)
        .hasMessage(
            "The export is that of a run order/%s, not of a thread; read it as a run",
            export.run().runId());
  }
}
