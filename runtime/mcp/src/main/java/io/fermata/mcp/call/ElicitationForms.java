package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.feature.McpReply;
import io.fermata.mcp.rpc.FormSchema;
import io.fermata.mcp.rpc.Revision;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * The open questions of a run as elicitation forms, and submitted forms as answers. Each question
 * is a form of one field. Clients show simple fields only: if one question needs more, or asks for
 * a secret, there are no forms at all. Pure.
 */
final class ElicitationForms {
  /** No forms. */
  static final ElicitationForms NONE = new ElicitationForms(Map.of());

  private record Form(String field, boolean optional, McpAsk ask) {}

  /**
   * The replies of a client.
   *
   * @param answers by field, in the form of {@code stateUpdates}; a null node for a field that was
   *     left empty
   * @param declined the fields whose forms were declined
   * @param postponed the fields whose forms were put off with {@code cancel}
   * @param unfit the keys of replies that do not match their forms
   */
  record Filled(
      ObjectNode answers, List<String> declined, Set<String> postponed, List<String> unfit) {}

  private final Map<String, Form> forms;

  private ElicitationForms(Map<String, Form> forms) {
    this.forms = forms;
  }

  /** The forms of a reply, each under the name of its field. */
  static ElicitationForms of(ObjectNode body) {
    return of(body, field -> field);
  }

  /**
   * The forms of a reply.
   *
   * @param body a reply with open questions, and with the violations of earlier answers, if any
   * @param key names the request that asks for a field
   */
  static ElicitationForms of(ObjectNode body, UnaryOperator<String> key) {
    Map<String, Form> forms = new LinkedHashMap<>();
    for (JsonNode question : questions(body)) {
      String field = question.path("field").asText();
      ObjectNode shown = FormSchema.field(question.path("fieldSchema"));
      if (shown == null) {
        return NONE;
      }
      suggest(question.path("suggestions"), shown);
      ObjectNode schema = Json.object().put("type", "object");
      schema.putObject("properties").set(field, shown);
      boolean optional = question.path("optional").asBoolean();
      if (!optional) {
        schema.putArray("required").add(field);
      }
      String message = correction(body, field) + question.path("question").asText();
      forms.put(key.apply(field), new Form(field, optional, McpAsk.uncheckedForm(message, schema)));
    }
    return new ElicitationForms(forms);
  }

  private static List<JsonNode> questions(ObjectNode body) {
    List<JsonNode> questions = new ArrayList<>();
    if (body.has("question")) {
      questions.add(body);
    }
    body.path("questions").forEach(questions::add);
    return questions;
  }

  /** What was wrong with the last answer, to be shown before the question. */
  private static String correction(ObjectNode body, String field) {
    for (JsonNode violation : body.path("violations")) {
      if (violation.path("field").asText().equals(field)) {
        return violation.path("message").asText() + "\n";
      }
    }
    return "";
  }

  /** Suggestions are not binding, so they are part of the description and not an enum. */
  private static void suggest(JsonNode suggestions, ObjectNode shown) {
    List<String> offered = new ArrayList<>();
    suggestions.forEach(each -> offered.add(each.asText()));
    if (!offered.isEmpty()) {
      String description = shown.path("description").asText();
      String all = "Suggestions: " + String.join(", ", offered);
      shown.put("description", description.isEmpty() ? all : description + "\n" + all);
    }
  }

  /** Whether there are no forms. */
  boolean isEmpty() {
    return forms.isEmpty();
  }

  /** The requests by name. */
  Map<String, McpAsk> asks() {
    Map<String, McpAsk> asks = new LinkedHashMap<>();
    forms.forEach((key, form) -> asks.put(key, form.ask()));
    return asks;
  }

  /** The fields of the open questions, whether or not a form can ask for them. */
  static Set<String> asked(ObjectNode body) {
    Set<String> fields = new LinkedHashSet<>();
    questions(body).forEach(question -> fields.add(question.path("field").asText()));
    return fields;
  }

  /** All forms as one, which asks everything at once. */
  McpAsk combined() {
    List<String> messages = new ArrayList<>();
    ObjectNode schema = Json.object().put("type", "object");
    ObjectNode properties = schema.putObject("properties");
    ArrayNode required = JsonNodeFactory.instance.arrayNode();
    for (Form form : forms.values()) {
      ObjectNode params = form.ask().params();
      messages.add(params.path("message").asText());
      properties.set(
          form.field(), params.path("requestedSchema").path("properties").path(form.field()));
      if (!form.optional()) {
        required.add(form.field());
      }
    }
    if (!required.isEmpty()) {
      schema.set("required", required);
    }
    return McpAsk.uncheckedForm(String.join("\n", messages), schema);
  }

  /** Whether a client of a revision that declares these capabilities can show them. */
  boolean supportedBy(JsonNode declared, Revision revision) {
    return !isEmpty()
        && forms.values().stream().allMatch(form -> form.ask().supportedBy(declared, revision));
  }

  /** Whether a revision has all that they use. */
  boolean isIn(Revision revision) {
    return forms.values().stream().allMatch(form -> form.ask().isIn(revision));
  }

  /** Reads the replies to these forms. Replies to other requests are ignored. */
  Filled filled(JsonNode responses) {
    Filled filled =
        new Filled(Json.object(), new ArrayList<>(), new LinkedHashSet<>(), new ArrayList<>());
    forms.forEach(
        (key, form) -> {
          JsonNode reply = responses.get(key);
          if (reply != null) {
            take(key, form, reply, filled);
          }
        });
    return filled;
  }

  private static void take(String key, Form form, JsonNode reply, Filled filled) {
    if (!form.ask().fits(reply)) {
      filled.unfit().add(key);
      return;
    }
    McpReply given = new McpReply(reply);
    if (given.accepted()) {
      JsonNode value = given.content().get(form.field());
      filled.answers().set(form.field(), value);
    } else if (given.action().equals("decline")) {
      filled.declined().add(form.field());
    } else {
      filled.postponed().add(form.field());
    }
  }
}
