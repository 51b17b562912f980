package io.fermata.session.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.json.Json;
import java.io.IOException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Records are small in the store, and come out of it as they were. */
class PackingTest {
  private static final byte MAP = (byte) 0xbf;

  private static Entry<Event> step() {
    Place ask = Place.parse("ask#1");
    Event.Question question =
        new Event.Question(
            "town", "Where to?", Json.object().put("type", "string"), List.of(), null);
    return Entry.of(
        1,
        1_790_000_000_000L,
        new Entry.Origin(Entry.By.CALLER, "local", "s"),
        List.of(
            new Event.Started("run", 1, "print", "to travel", 1_790_000_000_000L),
            new Event.Moved(Place.parse("__start__#1"), ask, true, 1_790_000_000_000L),
            new Event.Asked(ask, List.of(question), null, null, 1_790_000_000_000L),
            new Event.Answered(Map.of("town", Json.tree("Graz")), null, 1_790_000_000_001L)));
  }

  private static byte[] typical() {
    return JournalSerializer.cbor(step());
  }

  private static byte[] random(Random random, int size) {
    byte[] bytes = new byte[size];
    random.nextBytes(bytes);
    bytes[0] = MAP;
    return bytes;
  }

  @Test
  void aTypicalRecordIsLessThanHalfAsLarge() throws IOException {
    byte[] packed = Packing.packed(typical());
    assertThat(packed.length).isLessThan(typical().length / 2);
    assertThat(Packing.unpacked(packed)).isEqualTo(typical());
  }

  @Test
  void everythingComesOutAsItWentIn() throws IOException {
    Random random = new Random(7);
    byte[] typical = typical();
    for (int size : List.of(1, 63, 64, 65, 300, 5_000, 9_000, 65_535, 65_536, 200_000)) {
      byte[] words = random(random, size);
      for (int i = 1; i < size; i++) {
        words[i] = typical[i % typical.length];
      }
      byte[] zeros = new byte[size];
      zeros[0] = MAP;
      for (byte[] plain : List.of(random(random, size), words, zeros, patched(random, size))) {
        byte[] packed = Packing.packed(plain);
        assertThat(packed.length).isLessThanOrEqualTo(size);
        assertThat(Packing.unpacked(packed)).isEqualTo(plain);
      }
    }
    for (int round = 0; round < 300; round++) {
      byte[] plain = patched(random, 64 + random.nextInt(40_000));
      assertThat(Packing.unpacked(Packing.packed(plain))).isEqualTo(plain);
    }
  }

  /** Noise with parts of the dictionary and of itself in it, of lengths and from places of note. */
  private static byte[] patched(Random random, int size) {
    int[] distances = {1, 2, 3, 500, 8_191, 8_192, 8_193};
    int[] lengths = {2, 3, 8, 9, 10, 31, 32, 33, 263, 264, 265, 1_000};
    byte[] bytes = random(random, size);
    int at = 1;
    while (at < size) {
      int length = Math.min(lengths[random.nextInt(lengths.length)], size - at);
      int distance = distances[random.nextInt(distances.length)];
      boolean fromWords = random.nextInt(3) == 0 && length < Packing.WORDS.length();
      int place = fromWords ? random.nextInt(Packing.WORDS.length() - length) : at - distance;
      for (int i = 0; i < length && place >= 0 && random.nextInt(300) > 0; i++) {
        bytes[at + i] = fromWords ? Packing.WORDS.at(place + i) : bytes[place + i];
      }
      at += length + random.nextInt(70);
    }
    return bytes;
  }

  @Test
  void whatIsLargeOrDoesNotGetSmallerIsLeftAsItIs() {
    byte[] large = new byte[Packing.LONGEST_RECORD + 1];
    large[0] = MAP;
    assertThat(Packing.packed(large)).isSameAs(large);
    byte[] noise = random(new Random(1), 500);
    assertThat(Packing.packed(noise)).isSameAs(noise);
  }

  @Test
  void whatIsNotWholeIsRefused() {
    byte[] packed = Packing.packed(typical());
    for (int size = 1; size < packed.length; size++) {
      byte[] cut = Arrays.copyOf(packed, size);
      assertThatThrownBy(() -> Packing.unpacked(cut)).isInstanceOf(IOException.class);
    }
    byte[] longer = Arrays.copyOf(packed, packed.length + 1);
    assertThatThrownBy(() -> Packing.unpacked(longer)).isInstanceOf(IOException.class);
  }

  @Test
  void whatWasChangedIsRefusedWithFewExceptions() {
    byte[] packed = Packing.packed(typical());
    int read = 0;
    for (int i = 0; i < packed.length; i++) {
      for (int bit = 0; bit < Byte.SIZE; bit++) {
        byte[] changed = packed.clone();
        changed[i] ^= (byte) (1 << bit);
        try {
          new JournalSerializer().fromBinary(changed, "run:1");
          read++;
        } catch (IOException refused) {
          assertThat(refused).isInstanceOf(UnreadableEntry.class);
        }
      }
    }
    assertThat(read).isLessThan(packed.length * Byte.SIZE / 50);
  }

  @Test
  void whatIsZeroedIsNoRecordOfALaterRelease() {
    assertThatThrownBy(() -> new JournalSerializer().fromBinary(new byte[200], "run:1"))
        .isInstanceOf(UnreadableEntry.class)
        .hasMessageContaining("backup");
  }

  @Test
  void whatALaterReleasePackedIsRefusedByName() {
    byte[] later = Packing.packed(typical());
    later[0] = 2;
    assertThatThrownBy(() -> new JournalSerializer().fromBinary(later, "run:1"))
        .isInstanceOf(UnreadableEntry.class)
        .hasMessageContaining("run:1")
        .hasMessageContaining("dictionary 2")
        .hasMessageContaining("newer");
  }

  @Test
  void whatWasPackedByTheFirstReleaseIsStillRead() throws IOException {
    byte[] packed =
        Base64.getDecoder()
            .decode(
                "AcsBZu8E3wSgxFBsAMPjKWNjzQBlIiTjDe0CYXP/7gLw4wWcQ87jDKAAZeMDpisaBSB0cm"
                    + "F2ZczIAKBAgeMVtUNG4Abe4AE14wJiQ27jA2UmeoIHAHQj3+MAJAJpV2ghWwMgdG8/oy4l"
                    + "uOMCdOMEGOAHbeIIl2BaBGRHcmF64AMrIpY=");
    Object read = new JournalSerializer().fromBinary(packed, "run:1");
    assertThat(Json.tree(read)).isEqualTo(Json.tree(step()));
  }

  @Test
  void theDictionaryNeverChanges() throws Exception {
    try (var in = Objects.requireNonNull(getClass().getResourceAsStream("packing-1.txt"))) {
      byte[] words = Base64.getMimeDecoder().decode(in.readAllBytes());
      assertThat(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(words)))
          .isEqualTo("610eea421041ff904b92f10c692d8fd79da9c12101dfc31e8ca843e3b938c990");
    }
  }

  @Test
  void aDictionaryThatIsNotFermatasIsRefused() {
    assertThatThrownBy(() -> PackingWords.of("packing-1.txt", 7))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("io/fermata/session/journal/packing-1.txt")
        .hasMessageContaining("repair the jar");
    assertThatThrownBy(() -> PackingWords.of("none.txt", 7))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("none.txt");
  }
}
