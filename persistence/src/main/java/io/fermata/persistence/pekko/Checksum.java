package io.fermata.persistence.pekko;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/** A CRC-32C over fields, each with its length, so that no byte can move from one to another. */
final class Checksum {

  private final CRC32C crc = new CRC32C();
  private final ByteBuffer number = ByteBuffer.allocate(Long.BYTES);

  Checksum add(long value) {
    number.clear();
    number.putLong(value).flip();
    crc.update(number);
    return this;
  }

  Checksum add(String text) {
    return add(text.getBytes(StandardCharsets.UTF_8));
  }

  Checksum add(Serialized serialized) {
    return add(serialized.serializer()).add(serialized.manifest()).add(serialized.bytes());
  }

  private Checksum add(byte[] bytes) {
    add(bytes.length);
    crc.update(bytes);
    return this;
  }

  int value() {
    return (int) crc.getValue();
  }
}
