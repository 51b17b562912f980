package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.access.Digests;
import io.fermata.mcp.access.FairShares;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.key.Handles;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * The state of a call between its rounds, held by the client: encrypted, bound to the principal and
 * the call, short-lived, and accepted once.
 */
public final class RequestStates {
  static final Duration LIFETIME = Duration.ofMinutes(30);

  private static final int NONCE = 12;
  private static final int TAG_BITS = 128;
  private static final int MAX_USED = 100_000;
  private static final int MANY = 1_000;

  private final SecretKeySpec key;
  private final LongSupplier clock;
  private final SecureRandom random = new SecureRandom();

  /** When those that were taken back were made, the first taken first. */
  private final FairShares<ByteBuffer, Long> used;

  /**
   * All that were made for a principal until then are refused, for it is not known any more which
   * were used.
   */
  private final Map<String, Long> forgotten = new HashMap<>();

  /**
   * @param each how many that were used are known of one principal
   */
  public RequestStates(Handles handles, LongSupplier clock, int each) {
    // The name has no line break, so it is not one that a session's handle is derived from.
    this.key = new SecretKeySpec(sha256("AES", handles.derive("requestState")), "AES");
    this.clock = clock;
    this.used =
        new FairShares<>(
            each, MAX_USED, (principal, made) -> forgotten.merge(principal, made, Math::max));
  }

  /** Seals what a call has so far. */
  public String seal(JsonNode content, String principal, String call) {
    ObjectNode state = Json.object().put("made", clock.getAsLong());
    state.set("content", content);
    byte[] nonce = new byte[NONCE];
    random.nextBytes(nonce);
    byte[] sealed =
        crypt(Cipher.ENCRYPT_MODE, nonce, JsonRpcCodec.bytes(state), bound(principal, call));
    byte[] whole = Arrays.copyOf(nonce, NONCE + sealed.length);
    System.arraycopy(sealed, 0, whole, NONCE, sealed.length);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(whole);
  }

  /** What was sealed, and is good for one use. */
  public final class Opened {
    private final String principal;
    private final ByteBuffer nonce;
    private final long made;
    private final JsonNode content;

    private Opened(String principal, ByteBuffer nonce, JsonNode state) {
      this.principal = principal;
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
     * @param instead what a client has to do if it is refused
     * @throws RpcException if it is too old, or was used before
     */
    public void use(String instead) {
      String wrong = RequestStates.this.use(principal, nonce, made);
      if (wrong != null) {
        throw RpcException.invalidParams("The requestState " + wrong + ": " + instead + ".");
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
   * @throws RpcException if it was not sealed here for this principal and call
   */
  public Opened open(String text, String principal, String call) {
    byte[] whole = decoded(text);
    byte[] nonce = Arrays.copyOf(whole, NONCE);
    byte[] sealed = Arrays.copyOfRange(whole, NONCE, whole.length);
    return new Opened(
        principal,
        ByteBuffer.wrap(nonce),
        JsonRpcCodec.read(crypt(Cipher.DECRYPT_MODE, nonce, sealed, bound(principal, call))));
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

  private static RpcException foreign() {
    return RpcException.invalidParams(
        "The requestState was not issued by this server for this call: make a new call.");
  }

  /** Takes note of a use, or says what is wrong with it. */
  private synchronized @Nullable String use(String principal, ByteBuffer nonce, long made) {
    long now = clock.getAsLong();
    used.removeEldestWhile(eldest -> expired(eldest, now));
    if (expired(made, now) || made <= forgotten.getOrDefault(principal, Long.MIN_VALUE)) {
      return "has expired";
    } else if (used.has(nonce)) {
      return "was used before";
    }
    used.put(principal, nonce, made);
    // Said of expired ones, it says nothing.
    if (forgotten.size() > MANY) {
      forgotten.values().removeIf(latest -> expired(latest, now));
    }
    return null;
  }

  private synchronized void giveBack(ByteBuffer nonce) {
    used.remove(nonce);
  }

  private static boolean expired(long made, long now) {
    return made + LIFETIME.toMillis() <= now;
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
    byte[] digest = sha256(method, name, JsonRpcCodec.json(sorted(arguments)));
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
    MessageDigest digest = Digests.sha256();
    for (String part : parts) {
      byte[] bytes = part.getBytes(StandardCharsets.UTF_8);
      digest.update(ByteBuffer.allocate(Integer.BYTES).putInt(bytes.length).array());
      digest.update(bytes);
    }
    return digest.digest();
  }
}
