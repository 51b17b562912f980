package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Digests;
import io.fermata.flow.json.Json;
import io.fermata.mcp.access.FairShares;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.call.HostBus;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
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
  private static final int EVICTION_THRESHOLD = 1_000;

  private final SecretKeySpec key;
  private final HostBus hosts;
  private final LongSupplier clock;
  private final SecureRandom random = new SecureRandom();

  /** The creation times of used states, in the order of use. */
  private final FairShares<ByteBuffer, Long> used;

  /**
   * By principal: states created until then are rejected, because it is no longer known which of
   * them were used.
   */
  private final Map<String, Long> forgotten = new HashMap<>();

  /**
   * @param hosts those that may get the same state
   * @param each how many used states of one principal are remembered
   */
  public RequestStates(Handles handles, HostBus hosts, LongSupplier clock, int each) {
    this.hosts = hosts;
    // This name has no line break, so no session's handle is derived from it.
    this.key = new SecretKeySpec(sha256("AES", handles.derive("requestState")), "AES");
    this.clock = clock;
    this.used =
        new FairShares<>(
            each, MAX_USED, (principal, made) -> forgotten.merge(principal, made, Math::max));
  }

  /** Encrypts the state of a call. */
  public String encrypt(JsonNode content, String principal, String call) {
    ObjectNode state = Json.object().put("made", clock.getAsLong());
    state.set("content", content);
    byte[] nonce = new byte[NONCE];
    random.nextBytes(nonce);
    byte[] encrypted =
        crypt(Cipher.ENCRYPT_MODE, nonce, JsonRpcCodec.bytes(state), bound(principal, call));
    byte[] whole = Arrays.copyOf(nonce, NONCE + encrypted.length);
    System.arraycopy(encrypted, 0, whole, NONCE, encrypted.length);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(whole);
  }

  /** A decrypted state, which can be used once. */
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
     * Uses the state.
     *
     * @param repair what the client should do if the state is rejected
     * @throws RpcException if the state is too old, or was used before
     */
    public void use(String repair) {
      String wrong = RequestStates.this.use(principal, nonce, made);
      if (wrong != null) {
        throw rejected(wrong, repair);
      }
    }

    /**
     * Uses the state, on one host of a cluster only. A state whose use is decided elsewhere, as by
     * a run, needs no more than {@link #use}.
     *
     * @param repair what the client should do if the state is rejected
     * @return completes once the state is used, maybe on a thread of the store; fails with an
     *     {@link RpcException} if another host has used it, or may have
     * @throws RpcException if the state is too old, or was used before on this host
     */
    CompletionStage<Opened> useOnce(String repair) {
      use(repair);
      return hosts
          .claim(claim(nonce), LIFETIME)
          .exceptionallyCompose(
              thrown -> {
                CompletionStage<Boolean> refused =
                    CompletableFuture.failedFuture(RpcException.overloaded());
                if (thrown instanceof RejectedExecutionException) {
                  release();
                  return refused;
                }
                // The store may have claimed it all the same.
                return releaseEverywhere().thenCompose(released -> refused);
              })
          .thenApply(
              first -> {
                if (first) {
                  return this;
                }
                throw rejected("was used before", repair);
              });
    }

    /** Allows the state to be used after all, on this host. */
    void release() {
      RequestStates.this.release(nonce);
    }

    /**
     * Allows a state that was used with {@link #useOnce} to be used after all.
     *
     * @return completes when every host accepts it again, which it must before the client may retry
     */
    CompletionStage<?> releaseEverywhere() {
      // A retry on this host that comes first would lose its claim to this one's end.
      return hosts
          .giveUp(claim(nonce))
          .handle(
              (given, thrown) -> {
                release();
                return given;
              });
    }
  }

  /**
   * Decrypts a state.
   *
   * @throws RpcException if this server did not issue it for this principal and call
   */
  public Opened open(String text, String principal, String call) {
    byte[] whole = decoded(text);
    byte[] nonce = Arrays.copyOf(whole, NONCE);
    byte[] encrypted = Arrays.copyOfRange(whole, NONCE, whole.length);
    return new Opened(
        principal,
        ByteBuffer.wrap(nonce),
        JsonRpcCodec.readOwn(crypt(Cipher.DECRYPT_MODE, nonce, encrypted, bound(principal, call))));
  }

  private static byte[] decoded(String text) {
    try {
      byte[] whole = Base64.getUrlDecoder().decode(text);
      if (whole.length >= NONCE + TAG_BITS / Byte.SIZE) {
        return whole;
      }
    } catch (IllegalArgumentException e) {
      // Rejected below.
    }
    throw foreign();
  }

  @SuppressWarnings("ByteBufferBackingArray") // it wraps a whole array
  private static String claim(ByteBuffer nonce) {
    return "requestState " + Base64.getUrlEncoder().withoutPadding().encodeToString(nonce.array());
  }

  private static RpcException rejected(String wrong, String repair) {
    return RpcException.invalidParams("The requestState " + wrong + ": " + repair + ".");
  }

  private static RpcException foreign() {
    return RpcException.invalidParams(
        "The requestState was not issued by this server for this call: make a new call.");
  }

  /** Records a use; returns what is wrong with the state, or null. */
  private synchronized @Nullable String use(String principal, ByteBuffer nonce, long made) {
    long now = clock.getAsLong();
    used.removeEldestWhile(eldest -> expired(eldest, now));
    if (expired(made, now) || made <= forgotten.getOrDefault(principal, Long.MIN_VALUE)) {
      return "has expired";
    } else if (used.has(nonce)) {
      return "was used before";
    }
    used.put(principal, nonce, made);
    // Expired states are rejected anyway.
    if (forgotten.size() > EVICTION_THRESHOLD) {
      forgotten.values().removeIf(latest -> expired(latest, now));
    }
    return null;
  }

  private synchronized void release(ByteBuffer nonce) {
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

  /** A digest of what a retry has to repeat; clients may write members in any order. */
  static String call(String method, String name, ObjectNode arguments) {
    byte[] digest = sha256(method, name, Json.sortedText(arguments));
    return Base64.getUrlEncoder().withoutPadding().encodeToString(digest);
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
