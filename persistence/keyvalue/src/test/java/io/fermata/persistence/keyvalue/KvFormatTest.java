package io.fermata.persistence.keyvalue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.Serialized;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.StoreException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.pekko.persistence.SnapshotMetadata;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** The form of the values in a key-value store is a promise: what a release wrote is read. */
class KvFormatTest {
  private static final Path GOLDEN =
      Path.of("src/test/resources/io/fermata/persistence/keyvalue/key-value-1.txt");

  private static final String ID = "order|8c1f";

  private static Serialized serialized(String text) {
    return new Serialized(text.getBytes(StandardCharsets.UTF_8), 4_242, "step:1");
  }

  private static SerializedEntry record(long seq, Set<String> tags) {
    return new SerializedEntry(
        ID,
        seq,
        "a writer",
        1_780_000_000_000L + seq,
        tags,
        serialized("record " + seq),
        (int) seq,
        seq == 7 ? -6 : null);
  }

  private static KvDocument document() {
    SerializedEntry last =
        new SerializedEntry(
            ID,
            9,
            "a writer",
            1_780_000_000_009L,
            Set.of(JournalTags.UNFINISHED, JournalTags.due(1_790_000_000_000L)),
            serialized("Grüße"),
            9,
            null);
    SerializedSnapshot snapshot =
        new SerializedSnapshot(
            new SnapshotMetadata(ID, 8, 1_780_000_000_008L),
            serialized("state"),
            8,
            80);
    return new KvDocument(
        new JournalTip(9, 9),
        6,
        snapshot,
        List.of(record(7, Set.of()), record(8, Set.of()), last),
        entry());
  }

  private static DirectoryEntry entry() {
    return new DirectoryEntry(
            ID,
            "run",
            "ann",
            "order",
            9,
            1_780_000_000_000L,
            1_780_000_000_009L,
            Set.of("vip", "late"),
            Map.of("version", "3", "waits", "ask_size"))
        .in("my session", "waiting", 1_780_000_000_007L);
  }

  private static Map<String, KvMark> marks() {
    return Map.of(
        ID,
        new KvMark(KvDocument.WORKING, "a host", 1_780_000_000_000L),
        "order|77aa",
        new KvMark(1_790_000_000_000L, "another", 1_780_000_000_001L));
  }

  private static Map<String, byte[]> written() {
    Map<String, byte[]> values = new LinkedHashMap<>();
    values.put("journal", KvFormat.journal(document()));
    values.put("empty", KvFormat.journal(KvDocument.NONE));
    values.put("marks", KvFormat.marks(marks()));
    return values;
  }

  private static Map<String, byte[]> golden() throws IOException {
    Map<String, byte[]> values = new LinkedHashMap<>();
    for (String line : Files.readAllLines(GOLDEN)) {
      int space = line.indexOf(' ');
      values.put(line.substring(0, space), Base64.getDecoder().decode(line.substring(space + 1)));
    }
    return values;
  }

  private static byte[] golden(String name) throws IOException {
    return Objects.requireNonNull(golden().get(name), name);
  }

  @Test
  @EnabledIfSystemProperty(named = "golden", matches = "write")
  void aFileOfThePresentFormIsWrittenWhereItIsAskedFor() throws IOException {
    StringBuilder lines = new StringBuilder();
    written()
        .forEach(
            (name, value) ->
                lines
                    .append(name)
                    .append(' ')
                    .append(Base64.getEncoder().encodeToString(value))
                    .append('\n'));
    Files.writeString(GOLDEN, lines);
    assertThat(golden()).hasSize(3);
  }

  @Test
  void whatTheFirstReleaseWroteIsRead() throws IOException {
    assertThat(KvFormat.journal(ID, golden("journal")))
        .usingRecursiveComparison()
        .isEqualTo(document());
    assertThat(KvFormat.journal(ID, golden("empty"))).isEqualTo(KvDocument.NONE);
    assertThat(KvFormat.marks("a part", golden("marks"))).isEqualTo(marks());
  }

  @Test
  void itIsWrittenAsTheFirstReleaseWroteIt() throws IOException {
    Map<String, byte[]> golden = golden();
    written().forEach((name, value) -> assertThat(value).as(name).isEqualTo(golden.get(name)));
  }

  @Test
  void aValueOfANewerReleaseIsRefused() throws IOException {
    byte[] newer = golden("journal");
    newer[3]++;
    assertThatThrownBy(() -> KvFormat.journal(ID, newer))
        .isInstanceOf(StoreException.class)
        .hasMessageContainingAll(ID, "has format 2", "this release reads 1");
  }

  @Test
  void aValueThatWasCutOffIsDamaged() throws IOException {
    byte[] journal = golden("journal");
    for (int length = 0; length < journal.length; length++) {
      byte[] part = Arrays.copyOf(journal, length);
      assertThatThrownBy(() -> KvFormat.journal(ID, part))
          .isInstanceOf(DamagedException.class)
          .hasMessageContainingAll(ID, "is damaged", "backup");
    }
  }

  @Test
  void aValueWithAnAlteredByteIsDamaged() throws IOException {
    byte[] journal = golden("journal");
    for (int at = 4; at < journal.length; at++) {
      byte[] altered = journal.clone();
      altered[at] ^= 0x10;
      assertThatThrownBy(() -> KvFormat.journal(ID, altered))
          .as("byte %d", at)
          .isInstanceOf(DamagedException.class);
    }
  }
}
