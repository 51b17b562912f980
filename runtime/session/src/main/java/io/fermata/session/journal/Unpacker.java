package io.fermata.session.journal;

import java.io.IOException;

/** Unpacks one record. What is not whole runs out of bounds or fails the check. */
final class Unpacker {
  private final PackingWords words;
  private final byte[] packed;
  private final byte[] plain;
  private int next = Packing.HEADER;
  private int size;

  Unpacker(PackingWords words, byte[] packed) {
    this.words = words;
    this.packed = packed;
    this.plain = new byte[(packed[2] & Packing.MASK) << Byte.SIZE | (packed[3] & Packing.MASK)];
  }

  byte[] plain() throws IOException {
    while (size < plain.length) {
      int control = read();
      if (control < Packing.REPEATED) {
        takeLiterals(control + 1);
      } else {
        takeRepeated(control);
      }
    }
    if (packed[1] != Packing.check(plain)) {
      throw new IOException("It was changed since it was packed");
    }
    return plain;
  }

  /** How many bytes it was packed in. */
  int taken() {
    return next;
  }

  private int read() {
    return packed[next++] & Packing.MASK;
  }

  private void takeLiterals(int count) {
    System.arraycopy(packed, next, plain, size, count);
    next += count;
    size += count;
  }

  /** Byte by byte, for a part may go on into what it repeats. */
  private void takeRepeated(int control) {
    int length = (control >> Packing.FAR_BITS) + Packing.SHORTEST_PART - 1;
    if (length == Packing.LONG_PART) {
      length += read();
    }
    int distance = ((control & (Packing.REPEATED - 1)) << Byte.SIZE | read()) + 1;
    for (int end = size + length; size < end; size++) {
      int from = size - distance;
      plain[size] = from < 0 ? words.at(words.length() + from) : plain[from];
    }
  }
}
