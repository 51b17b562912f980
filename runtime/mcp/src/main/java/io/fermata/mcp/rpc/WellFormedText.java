package io.fermata.mcp.rpc;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Holds messages to text that can be written again: UTF-8, and no half characters. */
public final class WellFormedText {
  private static final int ESCAPE = "\\uXXXX".length();

  private WellFormedText() {}

  static void require(byte[] bytes) {
    boolean ascii = true;
    boolean escapes = false;
    for (byte b : bytes) {
      if (b == 0) {
        // With NULs in it, Jackson would take the message for another encoding.
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

  /** Text that can be written: a question mark stands where there was half a character. */
  public static String repaired(String text) {
    return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
  }

  /** Jackson lets some malformed sequences pass. */
  private static void requireUtf8(byte[] bytes) {
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
    } catch (CharacterCodingException e) {
      throw RpcException.parseError("The message is not valid UTF-8.");
    }
  }

  /** Half of a surrogate pair can be escaped in JSON, and is no text in any encoding. */
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

  /** The character that is escaped at a place, or a space if there is no such escape. */
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
