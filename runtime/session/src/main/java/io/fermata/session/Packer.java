package io.fermata.session;

import java.util.Arrays;

/** Packs one record. Of what is repeated the longest is taken that a few looks find. */
final class Packer {
  /** The shortest part that is worth telling where it was said before. */
  static final int LEAST = 3;

  private static final int LONGEST = Packing.SHORT_PARTS + Packing.BYTE;
  private static final int LOOKS = 16;

  private final PackingWords words;
  private final byte[] plain;
  private final byte[] packed;
  private int size = Packing.HEADER;

  /** One more than where three bytes of the record are last, by their hash; 0 if nowhere. */
  private final char[] last;

  private int length;
  private int distance;

  Packer(PackingWords words, byte[] plain) {
    this.words = words;
    this.plain = plain;
    this.packed = new byte[Packing.HEADER + plain.length + plain.length / Packing.LITERALS + 1];
    this.last = new char[Math.min(Math.max(Integer.highestOneBit(plain.length), 256), 4096)];
  }

  static int hash(byte[] bytes, int place) {
    int three =
        (bytes[place] & 0xff) << 16 | (bytes[place + 1] & 0xff) << 8 | (bytes[place + 2] & 0xff);
    return three * 0x9E3779B1;
  }

  /** How many bytes are the same. They are few as a rule, so that a loop is the fastest way. */
  static int alike(byte[] one, int place, byte[] other, int at, int most) {
    int length = 0;
    while (length < most && one[place + length] == other[at + length]) {
      length++;
    }
    return length;
  }

  byte[] packed() {
    packed[0] = Packing.NUMBER;
    packed[1] = (byte) (plain.length >> Byte.SIZE);
    packed[2] = (byte) plain.length;
    int said = 0;
    int place = 0;
    while (place + LEAST <= plain.length) {
      find(place);
      if (length >= LEAST) {
        putLiterals(said, place);
        putRepeated();
        for (int inside = place + 1; inside < place + length; inside++) {
          note(inside);
        }
        place += length;
        said = place;
      } else {
        place++;
      }
    }
    putLiterals(said, plain.length);
    return Arrays.copyOf(packed, size);
  }

  private void note(int place) {
    if (place + LEAST <= plain.length) {
      last[slot(hash(plain, place))] = (char) (place + 1);
    }
  }

  private int slot(int hash) {
    return hash >>> (Integer.numberOfLeadingZeros(last.length) + 1);
  }

  /** Finds what of the bytes from a place on was said before, and notes the place. */
  private void find(int place) {
    length = 0;
    int most = Math.min(plain.length - place, LONGEST);
    int hash = hash(plain, place);
    int slot = slot(hash);
    int own = last[slot] - 1;
    last[slot] = (char) (place + 1);
    if (own >= 0 && place - own <= Packing.WINDOW) {
      length = alike(plain, own, plain, place, most);
      distance = place - own;
    }
    int found = words.last(hash);
    for (int look = 0; look < LOOKS && found >= 0; look++) {
      int back = place + words.length() - found;
      if (back > Packing.WINDOW) {
        return;
      }
      int alike = words.alike(found, plain, place, most);
      if (alike > length) {
        length = alike;
        distance = back;
      }
      found = words.before(found);
    }
  }

  private void putLiterals(int from, int to) {
    for (int next = from; next < to; next += Packing.LITERALS) {
      int count = Math.min(Packing.LITERALS, to - next);
      packed[size++] = (byte) (count - 1);
      System.arraycopy(plain, next, packed, size, count);
      size += count;
    }
  }

  private void putRepeated() {
    int far = distance - 1;
    int more = Math.min(length, Packing.SHORT_PARTS) - LEAST + 1;
    packed[size++] = (byte) (more << Packing.FAR_BITS | far >> Byte.SIZE);
    if (length >= Packing.SHORT_PARTS) {
      packed[size++] = (byte) (length - Packing.SHORT_PARTS);
    }
    packed[size++] = (byte) far;
  }
}
