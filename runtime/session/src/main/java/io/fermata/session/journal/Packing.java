package io.fermata.session.journal;

import java.io.IOException;

/**
 * Makes records small. Most of what one says every one says, so it says where that is in a
 * dictionary of typical records, or earlier in itself; to the store a record is a half or a third
 * of what it would be, for some microseconds.
 *
 * <p>A packed record begins with the number of its dictionary, a check of the record and its length
 * in two bytes. The rest is LZF's format, as if the dictionary stood before the record. A byte
 * below 32 is followed by one literal byte more than it says. Any other tells in its upper three
 * bits of how many bytes, less 2, the part is that was said before, and in its lower five and in
 * the byte after it how far back, less 1; if the three bits are all set, another byte between these
 * two adds to the length.
 *
 * <p>A dictionary is never changed, as what was packed with it would be lost. A better one gets the
 * next number, and the earlier ones stay to unpack with.
 */
public final class Packing {
  static final byte NUMBER = 1;
  static final int HEADER = 4;
  static final int MASK = 0xff;

  /** From here on a control byte tells of a repeated part, below it of literal bytes. */
  static final int REPEATED = 32;

  static final int FAR_BITS = 5;
  static final int WINDOW = 1 << (FAR_BITS + Byte.SIZE);

  /** The shortest part that is worth telling where it was said before. */
  static final int SHORTEST_PART = 3;

  /** The length of a repeated part from which on another byte tells of it. */
  static final int LONG_PART = 9;

  /** Records are maps, so in CBOR they begin with a byte above all numbers of dictionaries. */
  private static final int FIRST_OF_RECORDS = 24;

  /** Below it nothing is gained. */
  private static final int SHORTEST_RECORD = 64;

  /** What is larger holds files for the most part, which are packed already as a rule. */
  static final int LONGEST_RECORD = 0xffff;

  static final PackingWords WORDS = PackingWords.of("packing-1.txt", 0xb427700fL);

  private Packing() {}

  /** A record packed, or as it is where that is not shorter. */
  public static byte[] packed(byte[] plain) {
    if (plain.length < SHORTEST_RECORD || plain.length > LONGEST_RECORD) {
      return plain;
    }
    byte[] packed = new Packer(WORDS, plain).packed();
    return packed.length < plain.length ? packed : plain;
  }

  /**
   * A record as it was before it was packed.
   *
   * @throws UnknownPackingException if a later release packed it
   * @throws IOException if it is not whole
   */
  static byte[] unpacked(byte[] stored) throws IOException {
    if (stored.length == 0 || Byte.toUnsignedInt(stored[0]) >= FIRST_OF_RECORDS) {
      return stored;
    } else if (stored[0] == 0) {
      throw new IOException("It begins with no dictionary's number");
    } else if (stored[0] != NUMBER) {
      throw new UnknownPackingException(stored[0]);
    }
    try {
      Unpacker unpacker = new Unpacker(WORDS, stored);
      byte[] plain = unpacker.plain();
      if (unpacker.taken() < stored.length) {
        throw new IOException("It goes on after its end");
      }
      return plain;
    } catch (IndexOutOfBoundsException e) {
      throw new IOException("It is not packed as it says", e);
    }
  }

  static byte check(byte[] plain) {
    return (byte) PackingWords.sum(plain);
  }

  /** What a later release packed. */
  static final class UnknownPackingException extends IOException {
    private static final long serialVersionUID = 1;

    UnknownPackingException(byte number) {
      super("packed with dictionary " + number);
    }
  }
}
