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
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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

  /** Of each set one element, as the others would have no order. */
  private static KvDocument document() {
    SerializedEntry last =
        new SerializedEntry(
            ID,
            9,
            "a writer",
            1_780_000_000_009L,
            Set.of(JournalTags.UNFINISHED),
            serialized("Grüße"),
            9,
            null);
    SerializedSnapshot snapshot =
        new SerializedSnapshot(ID, 8, 1_780_000_000_008L, serialized("state"), 8, 80);
    return new KvDocument(
        new JournalTip(9, 9),
        6,
        snapshot,
        List.of(record(7, Set.of()), record(8, Set.of(JournalTags.due(1_790_000_000_000L))), last),
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
            Set.of("vip"),
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
    values.put("journal", KvFormat.journal(ID, document()));
    values.put("empty", KvFormat.journal(ID, KvDocument.NONE));
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

  @Test
  void theValueOfAnotherJournalIsDamaged() throws IOException {
    byte[] journal = golden("empty");
    assertThatThrownBy(() -> KvFormat.journal("order|77aa", journal))
        .isInstanceOf(DamagedException.class)
        .hasMessageContainingAll("order|77aa", "is damaged", "that of another journal", "backup");
  }

  /** A checksum is no signature: anybody who may write the store can compute it. */
  @Test
  void aForgedValueIsReadOrDamagedWhateverItClaims() throws IOException {
    byte[] journal = golden("journal");
    int[] claims = {0x00, 0x1b, 0x3b, 0x5b, 0x5f, 0x7b, 0x7f, 0x9b, 0x9f, 0xbb, 0xbf, 0xf6, 0xff};
    int damaged = 0;
    for (int at = 4; at < journal.length - 4; at++) {
      for (int claim : claims) {
        byte[] forged = journal.clone();
        forged[at] = (byte) claim;
        damaged += isRead(forged(forged)) ? 0 : 1;
      }
    }
    assertThat(damaged).isGreaterThan(journal.length);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "f6", // nothing
        "80", // no name
        "82", // nothing of what it announces
        "826a6f726465727c38633166f6", // no journal
        "826a6f726465727c3863316680", // a journal without its components
        "826a6f726465727c3863316685f600f680f6", // no end
        "826a6f726465727c3863316685830000f400f680f6", // an end without its components
        "826a6f726465727c3863316685850000f4f400f6f680f6", // no number
        "826a6f726465727c3863316685850000f4f40000f6f6f6", // no entries
        "826a6f726465727c3863316685850000f4f40000f681f6f6", // an entry that is nothing
        "826a6f726465727c3863316685850000f4f40000f680f600", // something behind it
        "5a7fffffff", // two gigabytes
        "5b7fffffffffffffff", // more than there are
        "7b7fffffffffffffff",
        "9a7fffffff",
        "9b7fffffffffffffff",
      })
  void aValueThatLacksWhatItMustHaveIsDamaged(String cbor) {
    assertThat(isRead(value(HexFormat.of().parseHex(cbor)))).isFalse();
  }

  @Test
  void aValueThatHasWhatItMustHaveIsRead() {
    String cbor = "826a6f726465727c3863316685850000f4f40000f680f6";
    assertThat(isRead(value(HexFormat.of().parseHex(cbor)))).isTrue();
  }

  @Test
  void aValueOfArraysInArraysIsDamaged() {
    byte[] nested = new byte[1_000_000];
    Arrays.fill(nested, (byte) 0x81);
    assertThat(isRead(value(nested))).isFalse();
  }

  private static boolean isRead(byte[] value) {
    try {
      return KvFormat.journal(ID, value).records() != null;
    } catch (DamagedException damaged) {
      return false;
    }
  }

  /** With head and checksum. */
  private static byte[] value(byte[] cbor) {
    return forged(
        ByteBuffer.allocate(cbor.length + 8).putInt(0x464b56_01).put(cbor).putInt(0).array());
  }

  private static byte[] forged(byte[] value) {
    CRC32C crc = new CRC32C();
    crc.update(value, 0, value.length - 4);
    ByteBuffer.wrap(value).putInt(value.length - 4, (int) crc.getValue());
    return value;
  }
}
