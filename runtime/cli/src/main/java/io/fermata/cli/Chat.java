package io.fermata.cli;

import static io.fermata.cli.ConsoleCommand.now;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.message.Role;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ApprovalText;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A chat between a person and a thread: reads lines, and prints messages while they are streamed.
 */
public final class Chat implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  private static final int PAGE = 100;
  private static final Pattern DECISION = Pattern.compile("(?i)(y|yes|n|no)\\b.*");

  /** Why a thread rests when it is simply the person's turn. */
  private static final Set<String> TURNS =
      Set.of(
          StopCode.STOP_ON_RESPONSE,
          StopCode.STOP_TOOL,
          StopCode.AWAITING_HUMAN,
          StopCode.FORCED_HUMAN_TURN);

  private final Threads threads;
  private final String principal;
  private final String id;
  private final BufferedReader in;
  private final Screen screen;
  private final Threads.Feed feed;
  private final Set<Threads.Wait> waits = new HashSet<>();

  /** The last entry of the journal that was shown. */
  private long offset = -1;

  private Chat(
      Threads threads,
      String principal,
      String id,
      BufferedReader in,
      Screen screen,
      Threads.Feed feed) {
    this.threads = threads;
    this.principal = principal;
    this.id = id;
    this.in = in;
    this.screen = screen;
    this.feed = feed;
  }

  /** Joins a thread, and prints its earlier messages. */
  public static Chat open(
      Threads threads, String principal, String id, BufferedReader in, PrintWriter out) {
    Screen screen = new Screen(out);
    screen.line("Thread " + id);
    long offset = now(threads.get(principal, id)).offset();
    Threads.Feed feed = now(threads.follow(principal, id, offset + 1, -1, screen));
    feed.request(Integer.MAX_VALUE);
    return new Chat(threads, principal, id, in, screen, feed);
  }

  /** Runs until the input ends. */
  public void run() throws IOException {
    Threads.View view = settled();
    show(view, true);
    while (true) {
      String refused = null;
      try {
        if (view.questions().isEmpty()) {
          screen.prompt("> ");
          String line = in.readLine();
          if (line == null) {
            return;
          } else if (!line.isBlank()) {
            now(
                threads.post(
                    principal,
                    id,
                    new Threads.NewMessage(Message.user(line.strip()), List.of(), null)));
          }
        } else {
          Threads.Answer answer = answer(view.questions().get(0));
          if (answer == null) {
            return;
          }
          now(threads.answer(principal, id, answer));
        }
      } catch (CompletionException e) {
        if (!(e.getCause() instanceof ThreadException known)) {
          throw e;
        }
        refused = known.getMessage();
      }
      view = settled();
      show(view, false);
      if (refused != null) {
        screen.line("! " + refused);
      }
    }
  }

  /** Waits while the agent works. */
  private Threads.View settled() {
    Threads.View view;
    do {
      view = now(threads.settled(principal, id, TIMEOUT));
    } while (view.status() == Threads.Status.WORKING);
    return view;
  }

  /** Prints the messages since, what the agent waits for, and why it stopped. */
  private void show(Threads.View view, boolean first) {
    // What led here is on the screen before the question that it led to.
    now(feed.deliveredUpTo(view.offset()));
    List<Message> page =
        new ArrayList<>(
            now(threads.messages(principal, id, Threads.MessageQuery.latest(PAGE))).messages());
    Collections.reverse(page);
    screen.show(page, first);
    waits.retainAll(view.waits());
    view.waits().stream()
        .filter(waits::add)
        .forEach(wait -> screen.line("[%s waits %s]".formatted(wait.tool(), wait.waitsFor())));
    String code = view.code();
    if (code != null && !TURNS.contains(code) && view.offset() > offset) {
      String detail = view.progress().detail();
      screen.line("! " + code + (detail == null ? "" : ": " + detail));
    }
    offset = view.offset();
  }

  private Threads.@Nullable Answer answer(Threads.Question asked) throws IOException {
    JsonNode question = asked.question();
    if (asked.approval()) {
      String line;
      do {
        screen.prompt(ApprovalText.of(asked.tool(), question) + "\n[y, or n and why] ");
        line = in.readLine();
      } while (line != null && !DECISION.matcher(line.strip()).matches());
      return line == null ? null : approval(asked, line.strip());
    }
    refusals(question).forEach(refusal -> screen.line("! " + refusal));
    ObjectNode answers = Json.object();
    for (JsonNode each :
        question.has("questions") ? question.path("questions") : List.of(question)) {
      JsonNode value = value(each);
      if (value == null) {
        return null;
      } else if (each.has("field")) {
        answers.set(each.path("field").asText(), value);
      }
    }
    return new Threads.Answer(
        asked.call(), asked.id(), UUID.randomUUID().toString(), null, answers, null);
  }

  /** Asks until there is an answer of the question's type; null once the input has ended. */
  private @Nullable JsonNode value(JsonNode question) throws IOException {
    while (true) {
      screen.prompt(text(question));
      String line = in.readLine();
      if (line == null) {
        return null;
      }
      String typed = line.strip();
      if (typed.isEmpty() && question.path("optional").asBoolean()) {
        return Json.tree(""); // which leaves the question open
      } else if (!question.has("field")) {
        return Json.tree(typed); // a widget has been read
      } else if (typed.isEmpty()) {
        screen.line("! This question needs an answer");
        continue;
      }
      try {
        return TypedAnswer.of(typed, question.path("fieldSchema"));
      } catch (IllegalArgumentException e) {
        screen.line("! Answer with " + e.getMessage());
      }
    }
  }

  /** Why the answers before were refused. */
  private static List<String> refusals(JsonNode question) {
    List<String> refusals = new ArrayList<>();
    question
        .path("violations")
        .forEach(
            each ->
                refusals.add(each.path("field").asText() + " " + each.path("message").asText()));
    String error = question.path("error").asText();
    return refusals.isEmpty() && !error.isEmpty() ? List.of(error) : refusals;
  }

  private static Threads.Answer approval(Threads.Question asked, String line) {
    boolean approved = line.toLowerCase(Locale.ROOT).startsWith("y");
    String reason = line.replaceFirst("(?i)^no?\\b[ ,:]*", "");
    return new Threads.Answer(
        asked.call(),
        asked.id(),
        UUID.randomUUID().toString(),
        approved,
        null,
        approved || reason.isBlank() ? null : reason);
  }

  private static String text(JsonNode question) {
    List<String> suggestions = new ArrayList<>();
    question.path("suggestions").forEach(suggestion -> suggestions.add(suggestion.asText()));
    // A widget has no question.
    String asked =
        question
            .path("question")
            .asText(question.path("tool").asText() + " " + question.path("data"));
    return asked
        + (question.has("field") ? "" : " [Enter to continue]")
        + (question.path("optional").asBoolean() ? " [optional]" : "")
        + (suggestions.isEmpty() ? " " : " (" + String.join(", ", suggestions) + ") ");
  }

  @Override
  public void close() {
    feed.close();
  }

  /** What a person types as an answer to a question of a flow. */
  static final class TypedAnswer {
    private TypedAnswer() {}

    /** The value of a text of which no type is known: JSON if it is some, else the text itself. */
    static JsonNode of(String text) {
      try {
        return text.isBlank() ? Json.tree(text) : Json.parse(text);
      } catch (IllegalArgumentException e) {
        return Json.tree(text);
      }
    }

    /**
     * The value of a text for a field.
     *
     * @throws IllegalArgumentException if it is not of the field's type, with what is expected
     */
    static JsonNode of(String text, JsonNode fieldSchema) {
      for (JsonNode allowed : fieldSchema.path("enum")) {
        if (allowed.asText().equals(text)) {
          return allowed;
        }
      }
      Set<String> types = types(fieldSchema);
      types.remove("null");
      if (types.size() != 1) {
        JsonNode read = of(text);
        // A list or an object that may be one is hardly meant as a text.
        boolean whole = read.isContainerNode() && types.contains(type(read));
        return types.contains("string") && !whole ? Json.tree(text) : read;
      }
      return switch (types.iterator().next()) {
        case "string" -> Json.tree(text);
        case "integer" -> json(text, JsonNode::isIntegralNumber, "a whole number, such as 12");
        case "number" -> json(text, JsonNode::isNumber, "a number, such as 12.5");
        case "boolean" -> truth(text);
        case "array" -> json(text, JsonNode::isArray, "a JSON array, such as [\"a\", \"b\"]");
        case "object" -> json(text, JsonNode::isObject, "a JSON object, such as {\"a\": \"b\"}");
        default -> of(text);
      };
    }

    /** The types that a value may have; none if it may have any. */
    private static Set<String> types(JsonNode schema) {
      Set<String> types = new HashSet<>();
      JsonNode type = schema.path("type");
      if (type.isTextual()) {
        types.add(type.textValue());
      }
      type.forEach(each -> types.add(each.asText()));
      if (type.isMissingNode()) {
        schema.path("enum").forEach(value -> types.add(type(value)));
        for (JsonNode alternatives : List.of(schema.path("anyOf"), schema.path("oneOf"))) {
          for (JsonNode either : alternatives) {
            Set<String> its = types(either);
            if (its.isEmpty()) {
              return its;
            }
            types.addAll(its);
          }
        }
      }
      return types;
    }

    private static String type(JsonNode value) {
      return value.isTextual()
          ? "string"
          : value.isIntegralNumber()
              ? "integer"
              : value.getNodeType().name().toLowerCase(Locale.ROOT);
    }

    private static JsonNode json(String text, Predicate<JsonNode> fits, String expected) {
      JsonNode value = of(text);
      if (!fits.test(value)) {
        throw new IllegalArgumentException(expected);
      }
      return value;
    }

    private static JsonNode truth(String text) {
      return switch (text.toLowerCase(Locale.ROOT)) {
        case "y", "yes", "true" -> Json.tree(true);
        case "n", "no", "false" -> Json.tree(false);
        default -> throw new IllegalArgumentException("yes or no");
      };
    }
  }

  /**
   * What has been printed so far. Deltas arrive while a message is streamed and may be lost; the
   * messages are authoritative, and of each the screen prints what it has not shown yet.
   *
   * <p>Models choose texts: what would move the cursor or change how others are displayed is
   * printed as its escape, so that none can hide or overwrite another.
   */
  private static final class Screen implements Threads.Listener {
    private static final Pattern WITHOUT_LAYOUT = Pattern.compile("[^\\n\\t]+");

    private final PrintWriter out;
    private final Map<String, StringBuilder> streamed = new HashMap<>();
    private final Set<String> shown = new HashSet<>();
    private @Nullable String speaking;

    /** The first half of a character whose second half has not been streamed yet. */
    private String half = "";

    private boolean lineOpen;

    Screen(PrintWriter out) {
      this.out = out;
    }

    synchronized void line(String text) {
      endLine();
      print(text);
      out.println();
      out.flush();
    }

    synchronized void prompt(String text) {
      endLine();
      print(text);
      out.flush();
    }

    private void print(String text) {
      out.print(
          WITHOUT_LAYOUT
              .matcher(text)
              .replaceAll(part -> Matcher.quoteReplacement(Texts.visible(part.group()))));
    }

    private void endLine() {
      if (lineOpen) {
        out.println();
        lineOpen = false;
      }
      speaking = null;
      half = "";
    }

    @Override
    public synchronized void streamed(MessageDelta delta) {
      String message = delta.messageId();
      if (delta.kind().equals("void")) {
        streamed.remove(message);
        endLine();
      } else if (delta.kind().equals("text") && !shown.contains(message)) {
        if (!message.equals(speaking)) {
          endLine();
          speaking = message;
        }
        String text = half + delta.text();
        int whole = text.length() - (endsWithHalf(text) ? 1 : 0);
        half = text.substring(whole);
        streamed.computeIfAbsent(message, m -> new StringBuilder()).append(text, 0, whole);
        print(text.substring(0, whole));
        out.flush();
        lineOpen = true;
      }
    }

    private static boolean endsWithHalf(String text) {
      return !text.isEmpty() && Character.isHighSurrogate(text.charAt(text.length() - 1));
    }

    /**
     * Shows what is new.
     *
     * @param typed whether to show messages of the person, too, because they were typed elsewhere
     */
    synchronized void show(List<Message> messages, boolean typed) {
      for (Message message : messages) {
        boolean fresh = shown.add(message.id());
        if (fresh && typed && message.role() == Role.USER) {
          line("> " + message.content());
        } else if (fresh) {
          show(message);
        }
      }
      endLine();
      out.flush();
    }

    private void show(Message message) {
      StringBuilder before = streamed.remove(message.id());
      String text = message.content();
      if (message.role() == Role.USER || message.role() == Role.TOOL || text == null) {
        return;
      }
      if (before != null && message.id().equals(speaking) && text.startsWith(before.toString())) {
        print(text.substring(before.length()));
        lineOpen = true;
      } else if (before == null || !text.contentEquals(before)) {
        line(text);
      }
    }

    @Override
    public void happened(long offset, int index, long at, ThreadEvent event) {
      if (event instanceof ThreadEvent.StepEnded ended) {
        ended.calls().forEach(call -> line("[" + call.name() + "]"));
      }
    }

    @Override
    public void ended(@Nullable Throwable why) {
      // The reply to the next line says why.
    }
  }
}
