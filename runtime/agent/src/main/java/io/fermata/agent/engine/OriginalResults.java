package io.fermata.agent.engine;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What calls returned, as far as the messages with their results show. */
final class OriginalResults {
  private OriginalResults() {}

  /** The folder of the files of a result. */
  static String folder(String call) {
    return "/attachments/" + call + "/";
  }

  /** What a call returned that no hook concerned. */
  static ToolResult of(
      String call, Message message, @Nullable String code, List<ThreadEvent.Change> before) {
    String text = String.valueOf(message.content());
    if (message.failed() && text.startsWith(ToolResult.FAILED)) {
      text = text.substring(ToolResult.FAILED.length());
    }
    List<Attachment> attachments = new ArrayList<>();
    for (String path : message.attachments()) {
      String line = ToolCalls.ATTACHED + path;
      int end = text.indexOf(line);
      text = end < 0 ? text : text.substring(0, end) + text.substring(end + line.length());
      attachments.addAll(written(path, call, before));
    }
    boolean nothing = !message.failed() && text.equals(ToolCalls.NO_TEXT);
    JsonNode metadata = message.metadata();
    JsonNode data = metadata == null ? null : metadata.get("data");
    return new ToolResult(message.failed(), nothing ? null : text, code, data, attachments);
  }

  private static List<Attachment> written(
      String path, String call, List<ThreadEvent.Change> before) {
    for (ThreadEvent.Change change : before) {
      if (change instanceof ThreadEvent.FileWritten file
          && path.startsWith(folder(call))
          && file.path().equals(path)) {
        String name = path.substring(folder(call).length());
        return List.of(new Attachment(name, file.mimeType(), file.data()));
      }
    }
    return List.of();
  }

  /**
   * Whether the message and the changes of a call determine the result of its work.
   *
   * @param worked how many changes there were when it returned
   */
  static boolean determines(ThreadInput.Called called, String call, int worked, ToolResult result) {
    Message message = called.message();
    return message != null
        && called.after().isEmpty()
        && called.before().size() == worked + result.attachments().size()
        && of(call, message, called.code(), called.before()).equals(result);
  }

  /** Whether a result may be kept beside what hooks make of it. */
  static boolean small(ToolResult result) {
    long size = result.text() == null ? 0 : result.text().length();
    size += result.data() == null ? 0 : Json.text(result.data()).length();
    for (Attachment attachment : result.attachments()) {
      size += attachment.data().length;
    }
    return size <= Bounds.TEXT;
  }

  /** A result whose files have their data only where its end writes them. */
  static ToolResult withoutData(ToolResult result) {
    return with(
        result,
        result.attachments().stream()
            .map(file -> new Attachment(file.name(), file.mimeType(), new byte[0]))
            .toList());
  }

  /** The same with the data of its files, from the changes before its end. */
  static ToolResult withData(ToolResult result, String call, List<ThreadEvent.Change> before) {
    List<Attachment> files = new ArrayList<>();
    for (Attachment file : result.attachments()) {
      List<Attachment> written = written(folder(call) + file.name(), call, before);
      files.addAll(file.data().length > 0 || written.isEmpty() ? List.of(file) : written);
    }
    return with(result, files);
  }

  private static ToolResult with(ToolResult result, List<Attachment> files) {
    return new ToolResult(result.failed(), result.text(), result.code(), result.data(), files);
  }
}
