package io.fermata.agent.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.BinaryNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Offered;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.Inventions;
import io.fermata.flow.schema.ArgumentSchema;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The values in a thread that must not leave it: those of arguments that the schema of their tool
 * or scheduled handler calls {@code writeOnly}, as it does for {@link
 * io.fermata.flow.schema.Secret}, and answers to questions of flows about secret fields. They are
 * found in all texts, as {@link Secrets} says.
 */
public final class ThreadSecrets {
  private final Map<String, SecretFields> arguments;
  private final Map<String, SecretFields> scheduled;
  private final SecretFields everywhere;
  private final Map<String, SecretFields> asked = new HashMap<>();
  private final Secrets known = new Secrets();

  /** The calls of tools that mark arguments. */
  private final Set<RequestedCall> called = new LinkedHashSet<>();

  private ThreadSecrets(
      Map<String, SecretFields> arguments,
      Map<String, SecretFields> scheduled,
      SecretFields everywhere) {
    this.arguments = arguments;
    this.scheduled = scheduled;
    this.everywhere = everywhere;
  }

  /** What the tools and scheduled handlers of these agents mark. */
  public static ThreadSecrets of(Collection<Agent> agents) {
    Map<String, SecretFields> arguments = new HashMap<>();
    Map<String, SecretFields> scheduled = new HashMap<>();
    for (Agent agent : agents) {
      for (Offered offered : agent.offered(Offered.class)) {
        mark(arguments, offered.name(), offered.arguments());
      }
      for (ScheduledHandler effect : agent.effects()) {
        mark(scheduled, effect.name(), effect.arguments());
      }
    }
    return new ThreadSecrets(arguments, scheduled, SecretFields.NONE);
  }

  private static void mark(Map<String, SecretFields> marked, String name, ArgumentSchema schema) {
    SecretFields fields = SecretFields.marked("", schema.json());
    if (!fields.isEmpty()) {
      marked.merge(name, fields, SecretFields::and);
    }
  }

  /** The same, and what flows mark that these agents may call. */
  public static ThreadSecrets of(Collection<Agent> agents, Collection<Flow<?>> flows) {
    Set<String> names = new LinkedHashSet<>();
    flows.forEach(flow -> names.addAll(flow.secretFields().lastNames()));
    return of(agents).and(names);
  }

  /** The same, with fields that are secret wherever something has one of that name. */
  public ThreadSecrets and(Collection<String> names) {
    SecretFields more =
        SecretFields.of(names.stream().map(name -> "**." + name).toArray(String[]::new));
    return new ThreadSecrets(arguments, scheduled, everywhere.and(more));
  }

  /** The same, in a thread of which nothing was read yet. */
  public ThreadSecrets fresh() {
    return new ThreadSecrets(arguments, scheduled, everywhere);
  }

  /** Whether a tool or a scheduled handler marks something. */
  public boolean marked() {
    return !arguments.isEmpty() || !scheduled.isEmpty();
  }

  // --- what is known ----------------------------------------------------------------------------

  /** Notes what an event brings. */
  public void learn(ThreadEvent event) {
    find(event, known::add);
    requested(event).stream()
        .filter(call -> !ofCall(call.name()).isEmpty())
        .filter(call -> object(call.function().arguments()) != null)
        .forEach(called::add);
  }

  /** The calls that an event brings. */
  private static List<RequestedCall> requested(ThreadEvent event) {
    List<RequestedCall> calls = new ArrayList<>();
    if (event instanceof ThreadEvent.StepEnded e) {
      calls.addAll(e.calls());
    } else if (event instanceof ThreadEvent.Queued e) {
      calls.add(e.call());
    }
    event.messages().forEach(message -> calls.addAll(message.toolCalls()));
    return calls;
  }

  private void ask(String call, JsonNode question) {
    SecretFields fields = asked(question);
    if (!fields.isEmpty()) {
      asked.merge(call, fields, SecretFields::and);
    }
  }

  /** Hands over the secret arguments of the calls that are in progress. */
  public void find(ThreadState state, Consumer<JsonNode> found) {
    for (StepFrame frame : state.frames().values()) {
      for (CallState call : frame.calls()) {
        calls(List.of(call.call()), found);
        if (call.question() != null) {
          ask(call.key(), call.question());
        }
      }
    }
  }

  /** Hands over every secret value that an event brings. */
  public void find(ThreadEvent event, Consumer<JsonNode> found) {
    if (event instanceof ThreadEvent.CallAsked e) {
      ask(e.call(), e.question());
    } else if (event instanceof ThreadEvent.CallAnswered e && e.answers() != null) {
      answered(e.call()).find("", e.answers(), found);
    }
    calls(requested(event), found);
    if (event instanceof ThreadEvent.Scheduled e) {
      ofEffect(e.effect()).find("", e.arguments(), found);
    }
    if (!everywhere.isEmpty()) {
      named(event, found);
    }
  }

  private void calls(List<RequestedCall> calls, Consumer<JsonNode> found) {
    for (RequestedCall call : calls) {
      SecretFields fields = ofCall(call.name());
      ObjectNode given = fields.isEmpty() ? null : object(call.function().arguments());
      if (given != null) {
        fields.find("", given, found);
      }
    }
  }

  /** What has a name that is secret everywhere. */
  private void named(ThreadEvent event, Consumer<JsonNode> found) {
    if (event instanceof ThreadEvent.Created e) {
      e.env().forEach((name, value) -> everywhere.find(name, Json.tree(value), found));
    } else if (event instanceof ThreadEvent.EnvSet e && e.value() != null) {
      everywhere.find(e.key(), Json.tree(e.value()), found);
    } else if (event instanceof ThreadEvent.Stored e && e.value() != null) {
      everywhere.find(e.key(), e.value(), found);
    } else if (event instanceof ThreadEvent.ContextSet e && e.value() != null) {
      everywhere.find(e.key(), e.value(), found);
    } else if (event instanceof ThreadEvent.CallReturned e) {
      content(e.result().text(), found);
    }
    event.messages().forEach(message -> content(message, found));
  }

  private void content(Message message, Consumer<JsonNode> found) {
    content(message.content(), found);
    JsonNode metadata = message.body().metadata();
    if (metadata != null) {
      everywhere.find("", metadata, found);
    }
  }

  private void content(@Nullable String text, Consumer<JsonNode> found) {
    ObjectNode object = text == null ? null : object(text);
    if (object != null) {
      everywhere.find("", object, found);
    }
  }

  /** The secret fields of a tool's arguments. */
  private SecretFields ofCall(String tool) {
    return arguments.getOrDefault(tool, SecretFields.NONE).and(everywhere);
  }

  private SecretFields ofEffect(String name) {
    return scheduled.getOrDefault(name, SecretFields.NONE).and(everywhere);
  }

  private SecretFields answered(String call) {
    return asked.getOrDefault(call, SecretFields.NONE).and(everywhere);
  }

  /** The secret fields that a question asks for. */
  private static SecretFields asked(JsonNode question) {
    SecretFields fields = SecretFields.NONE;
    if (question.path("field").isTextual()) {
      fields =
          SecretFields.marked(question.path("field").textValue(), question.path("fieldSchema"));
    }
    for (JsonNode part : question) {
      fields = part.isContainerNode() ? fields.and(asked(part)) : fields;
    }
    return fields;
  }

  /** A text as the object that it describes; null if it does not. */
  private static @Nullable ObjectNode object(String text) {
    if (!text.stripLeading().startsWith("{")) {
      return null;
    }
    try {
      return Json.MAPPER.readTree(text) instanceof ObjectNode object ? object : null;
    } catch (IOException e) {
      return null;
    }
  }

  // --- what is invented instead -----------------------------------------------------------------

  /** What holds names and ids, or words of the journal. */
  private static final Set<String> NAMES =
      Set.of(
          ("e threadId agent principal relation call frame side prompt messageId id parentId logId"
                  + " toolCallId role status type name code flow flowId child unborn answerId by"
                  + " mimeType effect hook point before model finish key")
              .split(" "));

  /** What holds trees of authors, callers, tools and providers. */
  private static final Set<String> TREES =
      Set.of("metadata", "data", "question", "arguments", "attributes");

  /** An event with invented values in place of the secret ones, all of which must be known. */
  public ThreadEvent replaced(ThreadEvent event, Inventions inventions) {
    JsonNode tree = Json.MAPPER.valueToTree(event);
    JsonNode replaced = replaced(tree, new Replacing(inventions::text, inventions::tree));
    return replaced.equals(tree) ? event : Json.value(replaced, event.getClass());
  }

  /** Whether an event has something that is replaced for its name. */
  public boolean replaces(ThreadEvent event) {
    List<JsonNode> found = new ArrayList<>();
    Trees finding =
        (fields, path, tree) -> {
          fields.find(path, tree, found::add);
          return tree;
        };
    replaced(Json.MAPPER.valueToTree(event), new Replacing(UnaryOperator.identity(), finding));
    return !found.isEmpty();
  }

  private interface Trees {
    JsonNode replaced(SecretFields fields, String path, JsonNode tree);
  }

  /** What comes in place of texts, and of trees with secret fields. */
  private record Replacing(UnaryOperator<String> texts, Trees trees) {
    JsonNode tree(SecretFields fields, String path, JsonNode tree) {
      return trees.replaced(fields, path, tree);
    }

    String text(String text) {
      return texts.apply(text);
    }
  }

  private JsonNode replaced(JsonNode tree, Replacing by) {
    if (tree.isTextual()) {
      return TextNode.valueOf(text(everywhere, tree.textValue(), by));
    } else if (tree.isBinary()) {
      return BinaryNode.valueOf(file(((BinaryNode) tree).binaryValue(), by));
    }
    return Json.mapped(
        tree, (name, part) -> tree.isArray() ? replaced(part, by) : replaced(tree, name, part, by));
  }

  private JsonNode replaced(JsonNode whole, String name, JsonNode part, Replacing by) {
    // A queued call and a new child are objects with texts of their own.
    if (NAMES.contains(name) && !part.isObject()) {
      return part;
    } else if (name.equals("arguments") && part.isTextual()) {
      SecretFields fields = ofCall(whole.path("name").asText());
      return TextNode.valueOf(text(fields, part.textValue(), by));
    } else if (name.equals("arguments") && whole.has("effect")) {
      return by.tree(ofEffect(whole.path("effect").asText()), "", part);
    } else if (name.equals("answers")) {
      return by.tree(answered(whole.path("call").asText()), "", part);
    } else if (name.equals("question") && whole.path("approval").asBoolean()) {
      return approval(
          part,
          (tool, arguments) -> by.tree(ofCall(tool), "", arguments),
          other -> by.tree(everywhere, "", other));
    } else if (name.equals("value") && whole.has("key")) {
      return by.tree(everywhere, whole.path("key").asText(), part);
    } else if (name.equals("env") || (TREES.contains(name) && !part.isBinary())) {
      return by.tree(everywhere, "", part);
    }
    return replaced(part, by);
  }

  /** A question to approve a call, with other arguments, and with other parts besides. */
  private static JsonNode approval(
      JsonNode question,
      BiFunction<String, JsonNode, JsonNode> arguments,
      UnaryOperator<JsonNode> others) {
    String tool = question.path("tool").asText();
    return Json.mapped(
        question,
        (name, part) ->
            name.equals("arguments") ? arguments.apply(tool, part) : others.apply(part));
  }

  /** A text; one that describes an object keeps its form unless a short value in it is secret. */
  private static String text(SecretFields fields, String text, Replacing by) {
    String replaced = by.text(text);
    ObjectNode object = fields.isEmpty() ? null : object(text);
    if (object == null) {
      return replaced;
    }
    JsonNode other = by.tree(fields, "", object);
    return other.equals(object(replaced)) ? replaced : Json.text(other);
  }

  /** A file, if it is a text. */
  private static byte[] file(byte[] data, Replacing by) {
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data)).toString();
      return by.text(text).getBytes(StandardCharsets.UTF_8);
    } catch (CharacterCodingException e) {
      return data;
    }
  }

  // --- where it is found ------------------------------------------------------------------------

  /** The text with a mark in place of what must not leave the thread. */
  public String masked(String text) {
    return known.masked(text);
  }

  /** The arguments of a call, as a JSON text, with a mark in place of the secret ones. */
  String masked(RequestedCall call) {
    String given = call.function().arguments();
    ObjectNode object = object(given);
    SecretFields fields = ofCall(call.name());
    if (object == null || fields.isEmpty()) {
      return masked(given);
    }
    JsonNode masked = fields.masked("", object);
    return masked(masked.equals(object) ? given : Json.text(masked));
  }

  /** The arguments of scheduled work, as a JSON text, with a mark in place of the secret ones. */
  String masked(ThreadEvent.Scheduled scheduled) {
    return masked(Json.text(ofEffect(scheduled.effect()).masked("", scheduled.arguments())));
  }

  /** The question to a person, as a JSON text, with a mark in place of secret arguments. */
  String masked(ThreadEvent.CallAsked asked) {
    JsonNode question =
        asked.approval()
            ? approval(
                asked.question(),
                (tool, arguments) -> ofCall(tool).masked("", arguments),
                UnaryOperator.identity())
            : asked.question();
    return masked(Json.text(question));
  }

  /** The text with a mark in place of the secret arguments of calls that it quotes whole. */
  String maskedCalls(String text) {
    String masked = text;
    for (RequestedCall call : called) {
      masked = masked.replace(call.function().arguments(), masked(call));
    }
    return masked(masked);
  }
}
