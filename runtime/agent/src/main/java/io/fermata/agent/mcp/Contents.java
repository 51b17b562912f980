package io.fermata.agent.mcp;

import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.ToolResult;
import io.fermata.flow.json.Json;
import io.modelcontextprotocol.spec.McpSchema;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Converts a server's reply to a tool result. */
final class Contents {
  private final List<String> words = new ArrayList<>();
  private final List<Attachment> files = new ArrayList<>();

  private Contents() {}

  static ToolResult of(McpSchema.CallToolResult answer) {
    Contents contents = new Contents();
    if (answer.content() != null) {
      answer.content().forEach(contents::add);
    }
    Object structured = answer.structuredContent();
    if (contents.words.isEmpty() && structured != null) {
      contents.words.add(Json.text(Json.tree(structured)));
    }
    String text = contents.words.isEmpty() ? null : String.join("\n", contents.words);
    ToolResult result =
        Boolean.TRUE.equals(answer.isError())
            ? ToolResult.error(text == null ? "The server gave no reason" : text)
            : ToolResult.success(text);
    return result.attach(contents.files.toArray(Attachment[]::new));
  }

  private void add(McpSchema.Content content) {
    if (content instanceof McpSchema.TextContent text) {
      words.add(text.text());
    } else if (content instanceof McpSchema.ImageContent image) {
      file("image-" + (files.size() + 1), image.mimeType(), image.data());
    } else if (content instanceof McpSchema.AudioContent audio) {
      file("audio-" + (files.size() + 1), audio.mimeType(), audio.data());
    } else if (content instanceof McpSchema.ResourceLink link) {
      words.add(link.name() + ": " + link.uri());
    } else if (content instanceof McpSchema.EmbeddedResource embedded) {
      if (embedded.resource() instanceof McpSchema.TextResourceContents text) {
        words.add(text.text());
      } else if (embedded.resource() instanceof McpSchema.BlobResourceContents blob) {
        file("file-" + (files.size() + 1), blob.mimeType(), blob.blob());
      }
    }
  }

  private void file(String name, @Nullable String mimeType, String base64) {
    String type = mimeType == null ? "application/octet-stream" : mimeType;
    String named = name + extension(type);
    byte[] data;
    try {
      data = Base64.getDecoder().decode(base64);
    } catch (IllegalArgumentException e) {
      words.add("(%s cannot be decoded)".formatted(named));
      return;
    }
    if (data.length > Bounds.FILE) {
      words.add("(%s is too large with %s bytes)".formatted(named, data.length));
    } else {
      files.add(new Attachment(named, type, data));
    }
  }

  private static String extension(String mimeType) {
    String subtype = mimeType.replaceAll("^.*/|[;+].*$", "");
    return subtype.matches("[a-z0-9]{1,8}") ? "." + subtype : "";
  }
}
