package io.fermata.session.journal;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Base64;
import java.util.zip.CRC32;

/** What records of all journals say, as if it stood before each of them; and where it says what. */
final class PackingWords {
  private static final int BITS = 13;
  private static final short NOWHERE = -1;

  private final byte[] bytes;

  /** Where three bytes are last, by their hash. */
  private final short[] last = new short[1 << BITS];

  /** Where bytes with the hash of those at a place are before it. */
  private final short[] before;

  private PackingWords(byte[] bytes) {
    this.bytes = bytes;
    this.before = new short[bytes.length];
    Arrays.fill(last, NOWHERE);
    for (int place = 0; place + Packing.SHORTEST_PART <= bytes.length; place++) {
      int slot = slot(Packer.hash(bytes, place));
      before[place] = last[slot];
      last[slot] = (short) place;
    }
  }

  /**
   * Reads a dictionary.
   *
   * @param check its CRC-32, as with another one every record would be packed for nobody to read
   */
  static PackingWords of(String resource, long check) {
    try (InputStream in = PackingWords.class.getResourceAsStream(resource)) {
      byte[] text = in == null ? new byte[0] : in.readAllBytes();
      byte[] words = Base64.getMimeDecoder().decode(text);
      if (sum(words) != check) {
        throw new IllegalStateException(
            "The resource io/fermata/session/journal/"
                + resource
                + " is not Fermata's; repair the jar");
      }
      return new PackingWords(words);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static long sum(byte[] bytes) {
    CRC32 sum = new CRC32();
    sum.update(bytes);
    return sum.getValue();
  }

  private static int slot(int hash) {
    return hash >>> (Integer.SIZE - BITS);
  }

  int length() {
    return bytes.length;
  }

  byte at(int place) {
    return bytes[place];
  }

  /** Where bytes with that hash may be, negative if nowhere. */
  int last(int hash) {
    return last[slot(hash)];
  }

  /** Where else, negative if nowhere. */
  int before(int place) {
    return before[place];
  }

  /** How many bytes from a place on are those of a record from another place on. */
  int alike(int place, byte[] record, int at, int most) {
    return Packer.alike(bytes, place, record, at, Math.min(most, bytes.length - place));
  }
}
