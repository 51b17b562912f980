package io.fermata.mcp.access;

import com.fasterxml.jackson.databind.JsonNode;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.util.DefaultResourceRetriever;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.settings.TrustedUri;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/** Fetches the keys of an issuer from the address in its metadata. */
final class IssuerMetadata implements Callable<JWKSet> {
  private static final int MILLIS_TO_ANSWER = 5_000;
  private static final int MAX_BYTES = 512 * 1024;
  private static final String OAUTH = "/.well-known/oauth-authorization-server";
  private static final String OPENID = "/.well-known/openid-configuration";

  private final DefaultResourceRetriever http =
      new DefaultResourceRetriever(MILLIS_TO_ANSWER, MILLIS_TO_ANSWER, MAX_BYTES);

  private final String issuer;
  private final @Nullable URI keys;

  /**
   * @param keys the address of the keys; null to read it from the issuer's metadata
   */
  public IssuerMetadata(String issuer, @Nullable URI keys) {
    this.issuer = issuer;
    this.keys = keys;
  }

  @Override
  public JWKSet call() throws IOException, ParseException {
    URI from = keys == null ? discovered() : keys;
    return JWKSet.parse(text(from));
  }

  private String text(URI from) throws IOException {
    return http.retrieveResource(from.toURL()).getContent();
  }

  private URI discovered() throws IOException {
    IOException failure = new IOException("The issuer publishes no metadata");
    for (URI place : places()) {
      try {
        return keysIn(text(place), place);
      } catch (IOException e) {
        failure.addSuppressed(e);
      }
    }
    throw failure;
  }

  /** The addresses at which the metadata may be, in the order in which MCP clients try them. */
  private Set<URI> places() {
    URI uri = URI.create(issuer);
    String origin = uri.getScheme() + "://" + uri.getRawAuthority();
    String path = uri.getRawPath();
    String below = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
    Set<URI> places = new LinkedHashSet<>();
    places.add(URI.create(origin + OAUTH + below));
    places.add(URI.create(origin + OPENID + below));
    places.add(URI.create(origin + below + OPENID));
    return places;
  }

  private URI keysIn(String text, URI place) throws IOException {
    try {
      JsonNode metadata = JsonRpcCodec.read(text.getBytes(StandardCharsets.UTF_8));
      String claimed = String.valueOf(JsonRpcCodec.text(metadata, "issuer"));
      if (!claimed.equals(issuer)) {
        throw new IOException(
            "%s names the issuer %s, not %s"
                .formatted(place, RpcException.abbreviate(claimed), issuer));
      }
      return TrustedUri.require(
          "jwks_uri of " + place, String.valueOf(JsonRpcCodec.text(metadata, "jwks_uri")));
    } catch (RpcException | IllegalArgumentException e) {
      throw new IOException(place + " is not the metadata of an issuer: " + e.getMessage(), e);
    }
  }
}
