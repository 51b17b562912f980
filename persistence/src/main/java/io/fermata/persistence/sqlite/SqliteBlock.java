package io.fermata.persistence.sqlite;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.BitSet;

/** Some of the entries of a block: their places if they are few, else a bit for each place. */
final class SqliteBlock {

  static final int SIZE = 1_024;

  private static final int BITS = SIZE / Byte.SIZE;

  private SqliteBlock() {}

  /** The block of an entry. */
  static long of(long id) {
    return id / SIZE;
  }

  static int placeOf(long id) {
    return (int) (id % SIZE);
  }

  static BitSet all() {
    BitSet all = new BitSet(SIZE);
    all.set(0, SIZE);
    return all;
  }

  static byte[] write(BitSet entries) {
    if (entries.cardinality() * Short.BYTES >= BITS) {
      return Arrays.copyOf(entries.toByteArray(), BITS);
    }
    ByteBuffer places = ByteBuffer.allocate(entries.cardinality() * Short.BYTES);
    entries.stream().forEach(place -> places.putShort((short) place));
    return places.array();
  }

  static BitSet read(byte[] written) {
    if (written.length == BITS) {
      return BitSet.valueOf(written);
    }
    BitSet entries = new BitSet(SIZE);
    ByteBuffer places = ByteBuffer.wrap(written);
    while (places.hasRemaining()) {
      entries.set(places.getShort());
    }
    return entries;
  }
}
