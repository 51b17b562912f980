package io.fermata.mcp.rpc;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Requires valid UTF-8 without unpaired surrogates, so that the text can be written again. */
final class WellFormedText {
  private static final int ESCAPE = "\\uXXXX".length();

  private WellFormedText() {}

  static void require(byte[] bytes) {
    boolean ascii = true;
    boolean escapes = false;
    for (byte b : bytes) {
      if (b == 0) {
        // Jackson would take a message with NULs for another encoding.
        throw RpcException.parseError("The message must be UTF-8 without NUL characters.");
      }
      ascii &= b > 0;
      escapes |= b == '\\';
    }
    if (!ascii) {
      requireUtf8(bytes);
    }
    if (escapes) {
      requireWholeCharacters(bytes);
    }
  }

  /** Jackson accepts some malformed sequences. */
  private static void requireUtf8(byte[] bytes) {
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
    } catch (CharacterCodingException e) {
      throw RpcException.parseError("The message is not valid UTF-8.");
    }
  }

  /** JSON can escape half of a surrogate pair, which no encoding can write. */
  private static void requireWholeCharacters(byte[] bytes) {
    int at = 0;
    while (at < bytes.length) {
      if (bytes[at] != '\\') {
        at++;
        continue;
      }
      char unit = escaped(bytes, at);
      if (!Character.isSurrogate(unit)) {
        at += 2;
      } else if (Character.isHighSurrogate(unit)
          && Character.isLowSurrogate(escaped(bytes, at + ESCAPE))) {
        at += 2 * ESCAPE;
      } else {
        throw RpcException.parseError("The message escapes half of a surrogate pair.");
      }
    }
  }

  /** The character escaped at an offset; a space if there is no such escape. */
  private static char escaped(byte[] bytes, int at) {
    if (at + ESCAPE > bytes.length || bytes[at] != '\\' || bytes[at + 1] != 'u') {
      return ' ';
    }
    int unit = 0;
    for (int i = at + 2; i < at + ESCAPE; i++) {
      int digit = Character.digit(bytes[i], 16);
      if (digit < 0) {
        return ' ';
      }
      unit = unit * 16 + digit;
    }
    return (char) unit;
  }
}
