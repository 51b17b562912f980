package io.fermata.mcp;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSSigner;
import com.nimbusds.jose.crypto.factories.DefaultJWSSignerFactory;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.fermata.flow.json.Json;
import io.fermata.mcp.settings.OAuth;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An authorization server on a socket: it signs, rotates its keys, hangs, stops and restarts. */
public final class Issuer implements AutoCloseable {
  public static final String AUDIENCE = "http://localhost/mcp";

  /** How often its keys were fetched. */
  public final AtomicInteger fetched = new AtomicInteger();

  private final String path;
  private final String metadata;
  private final int port;
  private volatile List<JWK> keys;
  private volatile @Nullable CountDownLatch hanging;
  private @Nullable HttpServer server;

  private Issuer(String path, String metadata, int port, JWK... keys) {
    this.path = path;
    this.metadata = metadata;
    this.port = port;
    this.keys = List.of(keys);
  }

  /** An issuer with its metadata at OAuth's address. */
  public static Issuer running(JWK... keys) {
    return running("", "/.well-known/oauth-authorization-server", keys);
  }

  /**
   * A running issuer.
   *
   * @param path the path of its name
   * @param metadata the only path of its metadata
   */
  public static Issuer running(String path, String metadata, JWK... keys) {
    HttpServer first = listening(0);
    Issuer issuer = new Issuer(path, metadata, first.getAddress().getPort(), keys);
    issuer.begins(first);
    return issuer;
  }

  private static HttpServer listening(int port) {
    try {
      return HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 50);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  public static RSAKey rsa(String kid) {
    try {
      return new RSAKeyGenerator(2048).keyID(kid).generate();
    } catch (JOSEException e) {
      throw new IllegalStateException(e);
    }
  }

  public static ECKey ec(String kid) {
    try {
      return new ECKeyGenerator(Curve.P_256).keyID(kid).generate();
    } catch (JOSEException e) {
      throw new IllegalStateException(e);
    }
  }

  public String url() {
    return "http://localhost:" + port + path;
  }

  public OAuth oauth() {
    return OAuth.issuer(url()).audience(AUDIENCE);
  }

  /** The first of its keys, with which it signs. */
  JWK key() {
    return keys.get(0);
  }

  public void rotates(JWK... other) {
    keys = List.of(other);
  }

  public void dies() {
    Objects.requireNonNull(server).stop(0);
    server = null;
  }

  public void comesBack() {
    begins(listening(port));
  }

  private void begins(HttpServer starting) {
    starting.createContext("/", this::serve);
    starting.setExecutor(
        Executors.newCachedThreadPool(
            task -> {
              Thread thread = new Thread(task, "issuer");
              thread.setDaemon(true);
              return thread;
            }));
    starting.start();
    server = starting;
  }

  /** Accepts requests but answers none until it is resumed. */
  public CountDownLatch hangs() {
    CountDownLatch until = new CountDownLatch(1);
    hanging = until;
    return until;
  }

  private void serve(HttpExchange exchange) throws IOException {
    CountDownLatch until = hanging;
    if (until != null) {
      try {
        until.await();
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
    }
    String asked = exchange.getRequestURI().getPath();
    if (asked.equals(metadata)) {
      say(exchange, Json.text(Json.object().put("issuer", url()).put("jwks_uri", url() + "/jwks")));
    } else if (asked.equals(path + "/jwks")) {
      fetched.incrementAndGet();
      say(exchange, new JWKSet(keys).toPublicJWKSet().toString());
    } else {
      exchange.sendResponseHeaders(404, -1);
      exchange.close();
    }
  }

  private static void say(HttpExchange exchange, String json) throws IOException {
    byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().add("Content-Type", "application/json");
    exchange.sendResponseHeaders(200, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  /** A valid token of a subject. */
  public String token(String subject, String... scopes) {
    return token(claims -> claims.subject(subject).claim("scope", String.join(" ", scopes)));
  }

  /** A token that is valid except for a change. */
  public String token(Consumer<JWTClaimsSet.Builder> change) {
    return signed(key(), change);
  }

  /** A token that is valid except for its key and a change. */
  public String signed(JWK with, Consumer<JWTClaimsSet.Builder> change) {
    JWSAlgorithm algorithm = with instanceof ECKey ? JWSAlgorithm.ES256 : JWSAlgorithm.RS256;
    JWSHeader header =
        new JWSHeader.Builder(algorithm)
            .keyID(with.getKeyID())
            .type(new JOSEObjectType("at+jwt"))
            .build();
    return signed(header, with, change);
  }

  public String signed(JWSHeader header, JWK with, Consumer<JWTClaimsSet.Builder> change) {
    try {
      JWSSigner signer = new DefaultJWSSignerFactory().createJWSSigner(with, header.getAlgorithm());
      SignedJWT jwt = new SignedJWT(header, claims(change));
      jwt.sign(signer);
      return jwt.serialize();
    } catch (JOSEException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The claims of a valid token, with a change. */
  public JWTClaimsSet claims(Consumer<JWTClaimsSet.Builder> change) {
    JWTClaimsSet.Builder claims =
        new JWTClaimsSet.Builder()
            .issuer(url())
            .audience(AUDIENCE)
            .subject("ann")
            .expirationTime(in(300));
    change.accept(claims);
    return claims.build();
  }

  public static Date in(int seconds) {
    return Date.from(Instant.now().plusSeconds(seconds));
  }

  @Override
  public void close() {
    CountDownLatch until = hanging;
    if (until != null) {
      until.countDown();
    }
    if (server != null) {
      dies();
    }
  }
}
