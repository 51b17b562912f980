package io.fermata.session.journal;

import java.util.Arrays;

/**
 * Packs one record. Of what is repeated the longest is taken that is found at the last place in the
 * record with the same beginning and at a few in the dictionary.
 */
final class Packer {
  private static final int LONGEST_PART = Packing.LONG_PART + Packing.MASK;
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
    this.packed = new byte[Packing.HEADER + plain.length + plain.length / Packing.REPEATED + 1];
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
    putHeader();
    int said = 0;
    int place = 0;
    while (place + Packing.SHORTEST_PART <= plain.length) {
      if (find(place)) {
        putLiterals(said, place);
        putRepeated();
        note(place + 1, place + length);
        place += length;
        said = place;
      } else {
        place++;
      }
    }
    putLiterals(said, plain.length);
    return Arrays.copyOf(packed, size);
  }

  private void putHeader() {
    packed[0] = Packing.NUMBER;
    packed[1] = Packing.check(plain);
    packed[2] = (byte) (plain.length >> Byte.SIZE);
    packed[3] = (byte) plain.length;
  }

  private void note(int from, int to) {
    int end = Math.min(to, plain.length - Packing.SHORTEST_PART + 1);
    for (int place = from; place < end; place++) {
      last[slot(hash(plain, place))] = (char) (place + 1);
    }
  }

  private int slot(int hash) {
    return hash >>> (Integer.numberOfLeadingZeros(last.length) + 1);
  }

  /** Whether bytes from a place on were said before, how many, and where; notes the place. */
  private boolean find(int place) {
    length = 0;
    int most = Math.min(plain.length - place, LONGEST_PART);
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
        break;
      }
      int alike = words.alike(found, plain, place, most);
      if (alike > length) {
        length = alike;
        distance = back;
      }
      found = words.before(found);
    }
    return length >= Packing.SHORTEST_PART;
  }

  private void putLiterals(int from, int to) {
    for (int next = from; next < to; next += Packing.REPEATED) {
      int count = Math.min(Packing.REPEATED, to - next);
      packed[size++] = (byte) (count - 1);
      System.arraycopy(plain, next, packed, size, count);
      size += count;
    }
  }

  private void putRepeated() {
    int far = distance - 1;
    int more = Math.min(length, Packing.LONG_PART) - Packing.SHORTEST_PART + 1;
    packed[size++] = (byte) (more << Packing.FAR_BITS | far >> Byte.SIZE);
    if (length >= Packing.LONG_PART) {
      packed[size++] = (byte) (length - Packing.LONG_PART);
    }
    packed[size++] = (byte) far;
  }
}
