package io.fermata.mcp.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Response;
import io.fermata.mcp.settings.OAuth;
import java.net.URI;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The protected-resource metadata (RFC 9728), by which clients find the issuer of tokens. */
public final class ProtectedResource {
  static final String PATH = "/.well-known/oauth-protected-resource";

  private final String uri;
  private final Set<String> paths;
  private final Response metadata;

  /**
   * @param name the name of the server
   */
  public ProtectedResource(OAuth oauth, String name) {
    URI resource = oauth.resource();
    String path = resource.getRawPath().equals("/") ? "" : resource.getRawPath();
    this.uri = resource.getScheme() + "://" + resource.getRawAuthority() + PATH + path;
    // A proxy may have shortened the path that clients use.
    this.paths =
        Stream.of(PATH, PATH + HttpVerticle.PATH, PATH + path)
            .collect(Collectors.toUnmodifiableSet());
    this.metadata =
        Response.of(200, JsonRpcCodec.bytes(metadata(oauth, name)))
            .with("cache-control", "max-age=300");
  }

  private static ObjectNode metadata(OAuth oauth, String name) {
    ObjectNode metadata = Json.object().put("resource", oauth.resource().toString());
    metadata.putArray("authorization_servers").add(oauth.issuer());
    metadata.putArray("bearer_methods_supported").add("header");
    if (!oauth.scopes().isEmpty()) {
      oauth.scopes().stream().sorted().forEach(metadata.putArray("scopes_supported")::add);
    }
    return metadata.put("resource_name", name);
  }

  public String uri() {
    return uri;
  }

  boolean serves(@Nullable String path) {
    return path != null && paths.contains(path);
  }

  Response metadata() {
    return metadata;
  }
}
