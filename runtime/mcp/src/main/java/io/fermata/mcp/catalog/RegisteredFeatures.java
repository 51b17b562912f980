package io.fermata.mcp.catalog;

import io.fermata.mcp.feature.McpPrompt;
import io.fermata.mcp.feature.McpResource;
import io.fermata.mcp.feature.McpTemplate;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.protocol.ParamHeader;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

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

  /**
   * Requires that a server can offer them.
   *
   * @param toolsOfHost the names of the tools of its host
   * @return the headers that repeat arguments, by tool
   * @throws IllegalArgumentException if a tool has the name of one of the host, requires an invalid
   *     header, or has no handler, or a prompt has none
   */
  public Map<String, List<ParamHeader>> requireOfferable(Set<String> toolsOfHost) {
    tools.keySet().forEach(name -> requireFree(name, toolsOfHost));
    tools.values().forEach(McpTool::handler);
    prompts.values().forEach(McpPrompt::handler);
    Map<String, List<ParamHeader>> headers = new LinkedHashMap<>();
    tools.forEach((name, tool) -> headers.put(name, ParamHeader.of(name, tool.input().json())));
    return Collections.unmodifiableMap(headers);
  }

  /**
   * Requires a name for a tool that no tool of the host has.
   *
   * @throws IllegalArgumentException if one has it
   */
  public static void requireFree(String name, Set<String> toolsOfHost) {
    if (toolsOfHost.contains(name)) {
      throw new IllegalArgumentException(
          "A flow, an agent or a display tool is already named %s: choose another name for the tool"
              .formatted(name));
    }
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
