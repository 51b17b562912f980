package io.fermata.mcp;

import io.fermata.mcp.rpc.JsonRpcCodec;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import org.jspecify.annotations.Nullable;

/** Splits a stream into lines of bytes, and skips lines that are too long without storing them. */
final class LineReader {
  /** Marks a line that was too long. */
  static final byte[] TOO_LONG = new byte[0];

  private final InputStream in;
  private final byte[] buffer = new byte[16 * 1024];
  private int position;
  private int end;

  LineReader(InputStream in) {
    this.in = in;
  }

  /** The next line that is not empty, {@link #TOO_LONG}, or null at the end. */
  byte @Nullable [] next() throws IOException {
    while (true) {
      byte[] line = line();
      if (line == null || line == TOO_LONG || !blank(line)) {
        return line;
      }
    }
  }

  private byte @Nullable [] line() throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream(256);
    boolean tooLong = false;
    while (fill()) {
      int stop = position;
      while (stop < end && buffer[stop] != '\n') {
        stop++;
      }
      tooLong |= line.size() + (stop - position) > JsonRpcCodec.MAX_BYTES;
      if (!tooLong) {
        line.write(buffer, position, stop - position);
      }
      position = stop + 1;
      if (stop < end) {
        return tooLong ? TOO_LONG : line.toByteArray();
      }
    }
    if (tooLong) {
      return TOO_LONG;
    }
    return line.size() == 0 ? null : line.toByteArray();
  }

  private boolean fill() throws IOException {
    if (position < end) {
      return true;
    }
    position = 0;
    end = in.read(buffer);
    return end > 0;
  }

  private static boolean blank(byte[] line) {
    for (byte b : line) {
      if (b != ' ' && b != '\t' && b != '\r') {
        return false;
      }
    }
    return true;
  }
}
