package io.fermata.session;

import java.io.IOException;

/** Unpacks one record. What is not whole runs out of bounds. */
final class Unpacker {
  private final PackingWords words;
  private final byte[] packed;
  private final byte[] plain;
  private int next = Packing.HEADER;
  private int size;

  Unpacker(PackingWords words, byte[] packed) {
    this.words = words;
    this.packed = packed;
    this.plain = new byte[(packed[1] & Packing.BYTE) << Byte.SIZE | (packed[2] & Packing.BYTE)];
  }

  byte[] plain() throws IOException {
    while (next < packed.length) {
      int control = read();
      if (control < Packing.LITERALS) {
        takeLiterals(control + 1);
      } else {
        takeRepeated(control);
      }
    }
    if (size < plain.length) {
      throw new IOException("It ends too early");
    }
    return plain;
  }

  private int read() {
    return packed[next++] & Packing.BYTE;
  }

  private void takeLiterals(int count) {
    System.arraycopy(packed, next, plain, size, count);
    next += count;
    size += count;
  }

  /** Byte by byte, for a part may go on into what it repeats. */
  private void takeRepeated(int control) {
    int length = (control >> Packing.FAR_BITS) + Packer.LEAST - 1;
    if (length == Packing.SHORT_PARTS) {
      length += read();
    }
    int distance = ((control & (Packing.LITERALS - 1)) << Byte.SIZE | read()) + 1;
    for (int end = size + length; size < end; size++) {
      int from = size - distance;
      plain[size] = from < 0 ? words.at(words.length() + from) : plain[from];
    }
  }
}
