package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import io.fermata.session.ToolHost;
import java.util.Map;
import java.util.Objects;
import java.util.function.UnaryOperator;

/** The catalog of a running server. Each change replaces it and notifies the subscribers. */
final class LiveCatalog implements McpChanges {
  private final ToolHost host;
  private final Results results;
  private final Subscriptions subscriptions;
  private Offers offers;
  private volatile Catalog catalog;

  LiveCatalog(ToolHost host, Offers offers, Results results, Subscriptions subscriptions) {
    this.host = host;
    this.results = results;
    this.subscriptions = subscriptions;
    this.offers = offers;
    this.catalog = new Catalog(host, offers, results);
  }

  @Override
  public void tool(McpTool tool) {
    change(Subscriptions.Kind.TOOLS, now -> now.with(tool));
  }

  @Override
  public void withoutTool(String name) {
    change(Subscriptions.Kind.TOOLS, now -> now.withoutTool(name));
  }

  @Override
  public void prompt(McpPrompt prompt) {
    change(Subscriptions.Kind.PROMPTS, now -> now.with(prompt));
  }

  @Override
  public void withoutPrompt(String name) {
    change(Subscriptions.Kind.PROMPTS, now -> now.withoutPrompt(name));
  }

  @Override
  public void resource(McpResource resource) {
    change(Subscriptions.Kind.RESOURCES, now -> now.with(resource));
  }

  @Override
  public void withoutResource(String uri) {
    change(Subscriptions.Kind.RESOURCES, now -> now.withoutResource(uri));
  }

  @Override
  public void template(McpTemplate template) {
    change(Subscriptions.Kind.RESOURCES, now -> now.with(template));
  }

  @Override
  public void updated(String uri) {
    ObjectNode params = Json.object().put("uri", uri);
    subscriptions.tell("notifications/resources/updated", params, each -> each.watches(uri));
  }

  private void change(Subscriptions.Kind kind, UnaryOperator<Offers> change) {
    Map<String, ToolPage> before;
    Map<String, ToolPage> after;
    synchronized (this) {
      Offers changed = change.apply(offers);
      before = catalog.pages();
      catalog = new Catalog(host, changed, results);
      after = catalog.pages();
      offers = changed;
    }
    changed(kind);
    if (!before.equals(after)) {
      // The page of a tool comes and goes with it, and is a resource.
      changed(Subscriptions.Kind.RESOURCES);
      after.keySet().stream()
          .filter(
              uri -> before.containsKey(uri) && !Objects.equals(after.get(uri), before.get(uri)))
          .forEach(this::updated);
    }
  }

  private void changed(Subscriptions.Kind kind) {
    subscriptions.tell(kind.notification, Json.object(), each -> each.wants(kind));
  }

  /** The current catalog. */
  Catalog catalog() {
    return catalog;
  }
}
