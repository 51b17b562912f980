package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import io.fermata.session.Handles;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * What a call remembers between its rounds, in the client's hands: encrypted, bound to who called
 * what with which arguments, of short life, and taken back once.
 */
final class RequestStates {
  static final Duration LIFETIME = Duration.ofMinutes(30);

  private static final int NONCE = 12;
  private static final int TAG_BITS = 128;
  private static final int MAX_USED = 100_000;

  private final SecretKeySpec key;
  private final LongSupplier clock;
  private final SecureRandom random = new SecureRandom();

  /** When those that were taken back were made, the first taken first. */
  private final Map<ByteBuffer, Long> used = new LinkedHashMap<>();

  /** All that were made until then are refused, for it is not known any more which were used. */
  private long forgotten;

  RequestStates(Handles handles, LongSupplier clock) {
    // The name has no line break, so it is not one that a session's handle is derived from.
    this.key = new SecretKeySpec(sha256("AES", handles.derive("requestState")), "AES");
    this.clock = clock;
  }

  /** Seals what a call has so far. */
  String seal(JsonNode content, String principal, String call) {
    ObjectNode state = Json.object().put("made", clock.getAsLong());
    state.set("content", content);
    byte[] nonce = new byte[NONCE];
    random.nextBytes(nonce);
    byte[] sealed = crypt(Cipher.ENCRYPT_MODE, nonce, Wire.bytes(state), bound(principal, call));
    byte[] whole = Arrays.copyOf(nonce, NONCE + sealed.length);
    System.arraycopy(sealed, 0, whole, NONCE, sealed.length);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(whole);
  }

  /** What was sealed, and is good for one use. */
  final class Opened {
    private final ByteBuffer nonce;
    private final long made;
    private final JsonNode content;

    private Opened(ByteBuffer nonce, JsonNode state) {
      this.nonce = nonce;
      this.made = state.path("made").asLong();
      this.content = state.path("content");
    }

    JsonNode content() {
      return content;
    }

    /**
     * Uses it.
     *
     * @param instead what a client has to do that cannot use it any more
     * @throws Refusal if it is too old, or was used before
     */
    void use(String instead) {
      String wrong = RequestStates.this.use(nonce, made);
      if (wrong != null) {
        throw Refusal.params("The requestState " + wrong + ": " + instead + ".");
      }
    }

    /** It was not used after all, and may be. */
    void giveBack() {
      RequestStates.this.giveBack(nonce);
    }
  }

  /**
   * Opens what was sealed.
   *
   * @throws Refusal if it was not sealed here for this principal and call
   */
  Opened open(String text, String principal, String call) {
    byte[] whole = decoded(text);
    byte[] nonce = Arrays.copyOf(whole, NONCE);
    byte[] sealed = Arrays.copyOfRange(whole, NONCE, whole.length);
    return new Opened(
        ByteBuffer.wrap(nonce),
        Wire.read(crypt(Cipher.DECRYPT_MODE, nonce, sealed, bound(principal, call))));
  }

  private static byte[] decoded(String text) {
    try {
      byte[] whole = Base64.getUrlDecoder().decode(text);
      if (whole.length > NONCE) {
        return whole;
      }
    } catch (IllegalArgumentException e) {
      // Refused below.
    }
    throw foreign();
  }

  private static Refusal foreign() {
    return Refusal.params(
        "The requestState is not one that this server gave for this call: make the call anew.");
  }

  /** Takes note of a use, or says what is wrong with it. */
  private synchronized @Nullable String use(ByteBuffer nonce, long made) {
    long now = clock.getAsLong();
    forget(now);
    if (made <= forgotten || made + LIFETIME.toMillis() <= now) {
      return "has expired";
    }
    return used.putIfAbsent(nonce, made) == null ? null : "was used before";
  }

  private synchronized void giveBack(ByteBuffer nonce) {
    used.remove(nonce);
  }

  private void forget(long now) {
    Iterator<Long> eldest = used.values().iterator();
    while (eldest.hasNext()) {
      long made = eldest.next();
      boolean expired = made + LIFETIME.toMillis() <= now;
      if (!expired && used.size() < MAX_USED) {
        return;
      }
      if (!expired) {
        forgotten = Math.max(forgotten, made);
      }
      eldest.remove();
    }
  }

  private byte[] crypt(int mode, byte[] nonce, byte[] text, byte[] bound) {
    try {
      Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
      cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, nonce));
      cipher.updateAAD(bound);
      return cipher.doFinal(text);
    } catch (GeneralSecurityException e) {
      throw foreign();
    }
  }

  private static byte[] bound(String principal, String call) {
    return (principal.length() + "\n" + principal + "\n" + call).getBytes(StandardCharsets.UTF_8);
  }

  /** Names a call by what a retry has to repeat. */
  static String call(String method, String name, ObjectNode arguments) {
    byte[] digest = sha256(method, name, Wire.json(sorted(arguments)));
    return Base64.getUrlEncoder().withoutPadding().encodeToString(digest);
  }

  /** The same tree with members in one order, since clients may write them in any. */
  private static JsonNode sorted(JsonNode tree) {
    if (tree instanceof ObjectNode object) {
      Map<String, JsonNode> members = new TreeMap<>();
      object.properties().forEach(it -> members.put(it.getKey(), sorted(it.getValue())));
      return Json.object().setAll(members);
    } else if (tree.isArray()) {
      var all = Json.object().arrayNode();
      tree.forEach(each -> all.add(sorted(each)));
      return all;
    }
    return tree;
  }

  private static byte[] sha256(String... parts) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      for (String part : parts) {
        byte[] bytes = part.getBytes(StandardCharsets.UTF_8);
        digest.update(ByteBuffer.allocate(Integer.BYTES).putInt(bytes.length).array());
        digest.update(bytes);
      }
      return digest.digest();
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JDK has SHA-256", e);
    }
  }
}
