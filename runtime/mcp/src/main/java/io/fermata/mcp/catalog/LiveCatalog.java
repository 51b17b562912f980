package io.fermata.mcp.catalog;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpChanges;
import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.feature.McpResource;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.protocol.PeerServers;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.session.ToolHost;
import java.util.Map;
import java.util.Objects;
import java.util.function.UnaryOperator;

/** The catalog of a running server. Each change replaces it and notifies the subscribers. */
public final class LiveCatalog implements McpChanges {
  private static final String UPDATED = "resource-updated";

  private final ToolHost host;
  private final ResultWriter results;
  private final Subscriptions subscriptions;
  private final PeerServers peers;
  private RegisteredFeatures offers;
  private volatile Catalog catalog;

  public LiveCatalog(
      ToolHost host,
      RegisteredFeatures offers,
      ResultWriter results,
      Subscriptions subscriptions,
      PeerServers peers) {
    this.host = host;
    this.results = results;
    this.subscriptions = subscriptions;
    this.peers = peers;
    this.offers = offers;
    this.catalog = new Catalog(host, offers, results);
    peers.on(UPDATED, message -> publishUpdate(message.path("uri").asText()));
  }

  @Override
  public void tool(McpTool tool) {
    Objects.requireNonNull(tool, "tool");
    change(Subscriptions.Kind.TOOLS, now -> now.with(tool));
  }

  @Override
  public void withoutTool(String name) {
    Objects.requireNonNull(name, "name");
    change(Subscriptions.Kind.TOOLS, now -> now.withoutTool(name));
  }

  @Override
  public void prompt(McpPrompt prompt) {
    Objects.requireNonNull(prompt, "prompt");
    change(Subscriptions.Kind.PROMPTS, now -> now.with(prompt));
  }

  @Override
  public void withoutPrompt(String name) {
    Objects.requireNonNull(name, "name");
    change(Subscriptions.Kind.PROMPTS, now -> now.withoutPrompt(name));
  }

  @Override
  public void resource(McpResource resource) {
    Objects.requireNonNull(resource, "resource");
    change(Subscriptions.Kind.RESOURCES, now -> now.with(resource));
  }

  @Override
  public void withoutResource(String uri) {
    Objects.requireNonNull(uri, "uri");
    change(Subscriptions.Kind.RESOURCES, now -> now.withoutResource(uri));
  }

  @Override
  public void template(McpTemplate template) {
    Objects.requireNonNull(template, "template");
    change(Subscriptions.Kind.RESOURCES, now -> now.with(template));
  }

  @Override
  public void updated(String uri) {
    Objects.requireNonNull(uri, "uri");
    publishUpdate(uri);
    peers.pass(UPDATED, Json.object().put("uri", uri));
  }

  private void publishUpdate(String uri) {
    ObjectNode params = Json.object().put("uri", uri);
    subscriptions.publish("notifications/resources/updated", params, each -> each.watches(uri));
  }

  private void change(Subscriptions.Kind kind, UnaryOperator<RegisteredFeatures> change) {
    Map<String, ToolPage> before;
    Map<String, ToolPage> after;
    synchronized (this) {
      RegisteredFeatures changed = change.apply(offers);
      before = catalog.pages();
      catalog = new Catalog(host, changed, results);
      after = catalog.pages();
      offers = changed;
    }
    changed(kind);
    if (!before.equals(after)) {
      // The page of a tool is a resource that is added and removed with the tool.
      changed(Subscriptions.Kind.RESOURCES);
      after.keySet().stream()
          .filter(
              uri -> before.containsKey(uri) && !Objects.equals(after.get(uri), before.get(uri)))
          .forEach(this::publishUpdate);
    }
  }

  private void changed(Subscriptions.Kind kind) {
    subscriptions.publish(kind.notification, Json.object(), each -> each.wants(kind));
  }

  /** The current catalog. */
  public Catalog catalog() {
    return catalog;
  }
}
