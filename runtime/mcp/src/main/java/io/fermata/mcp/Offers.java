package io.fermata.mcp;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The tools, resources, templates and prompts that authors registered, in the order of
 * registration.
 */
record Offers(
    Map<String, McpTool> tools,
    Map<String, McpResource> resources,
    Map<String, McpTemplate> templates,
    Map<String, McpPrompt> prompts) {
  static final Offers NONE = new Offers(Map.of(), Map.of(), Map.of(), Map.of());

  Offers with(McpTool tool) {
    return new Offers(put(tools, tool.name(), tool), resources, templates, prompts);
  }

  Offers with(McpResource resource) {
    return new Offers(tools, put(resources, resource.uri(), resource), templates, prompts);
  }

  Offers with(McpTemplate template) {
    return new Offers(tools, resources, put(templates, template.uriTemplate(), template), prompts);
  }

  Offers with(McpPrompt prompt) {
    return new Offers(tools, resources, templates, put(prompts, prompt.name(), prompt));
  }

  Offers withoutTool(String name) {
    return new Offers(removed(tools, name), resources, templates, prompts);
  }

  Offers withoutResource(String uri) {
    return new Offers(tools, removed(resources, uri), templates, prompts);
  }

  Offers withoutPrompt(String name) {
    return new Offers(tools, resources, templates, removed(prompts, name));
  }

  private static <T> Map<String, T> put(Map<String, T> all, String key, T value) {
    Map<String, T> more = new LinkedHashMap<>(all);
    more.put(key, value);
    return Collections.unmodifiableMap(more);
  }

  private static <T> Map<String, T> removed(Map<String, T> all, String key) {
    Map<String, T> fewer = new LinkedHashMap<>(all);
    fewer.remove(key);
    return Collections.unmodifiableMap(fewer);
  }
}
