package io.fermata.mcp.catalog;

import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.feature.McpResource;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.feature.McpTool;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The tools, resources, templates and prompts that authors registered, in the order of
 * registration.
 */
public record RegisteredFeatures(
    Map<String, McpTool> tools,
    Map<String, McpResource> resources,
    Map<String, McpTemplate> templates,
    Map<String, McpPrompt> prompts) {
  public static final RegisteredFeatures NONE =
      new RegisteredFeatures(Map.of(), Map.of(), Map.of(), Map.of());

  public RegisteredFeatures with(McpTool tool) {
    return new RegisteredFeatures(put(tools, tool.name(), tool), resources, templates, prompts);
  }

  public RegisteredFeatures with(McpResource resource) {
    return new RegisteredFeatures(
        tools, put(resources, resource.uri(), resource), templates, prompts);
  }

  public RegisteredFeatures with(McpTemplate template) {
    return new RegisteredFeatures(
        tools, resources, put(templates, template.uriTemplate(), template), prompts);
  }

  public RegisteredFeatures with(McpPrompt prompt) {
    return new RegisteredFeatures(tools, resources, templates, put(prompts, prompt.name(), prompt));
  }

  RegisteredFeatures withoutTool(String name) {
    return new RegisteredFeatures(removed(tools, name), resources, templates, prompts);
  }

  RegisteredFeatures withoutResource(String uri) {
    return new RegisteredFeatures(tools, removed(resources, uri), templates, prompts);
  }

  RegisteredFeatures withoutPrompt(String name) {
    return new RegisteredFeatures(tools, resources, templates, removed(prompts, name));
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
