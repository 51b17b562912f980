package io.fermata.mcp.catalog;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Prompt;
import io.fermata.agent.Tool;
import io.fermata.agent.model.Model;
import io.fermata.flow.Flow;
import io.fermata.flow.action.Run;
import io.fermata.flow.json.Json;
import io.fermata.flow.route.Condition;
import io.fermata.flow.schema.Computed;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpServerBuilder;
import io.fermata.mcp.Wired;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.admin.Settings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A host with a support desk, on a real store, served over a real socket. */
public final class Desk implements AutoCloseable {
  /** A response. */
  public record Said(int status, HttpResponse<byte[]> raw, JsonNode body) {
    public String code() {
      return body.at("/error/code").asText();
    }

    public String header(String name) {
      return raw.headers().firstValue(name).orElse("");
    }

    public Said is(int expected) {
      assertThat(status).as(body.toString()).isEqualTo(expected);
      return this;
    }
  }

  /** One event of a stream. */
  public record StreamEvent(String id, String type, JsonNode data) {}

  /** A stream of events that is being read. */
  public static final class Listening implements AutoCloseable {
    private final HttpResponse<InputStream> response;
    private final InputStream in;
    private final BufferedReader lines;

    Listening(HttpResponse<InputStream> response) {
      this.response = response;
      this.in = response.body();
      this.lines = new BufferedReader(new InputStreamReader(in, UTF_8));
    }

    public int status() {
      return response.statusCode();
    }

    /** The next event; null at the end. */
    public @Nullable StreamEvent next() {
      try {
        String id = "";
        String type = "";
        JsonNode data = MissingNode.getInstance();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          if (line.startsWith("id: ")) {
            id = line.substring(4);
          } else if (line.startsWith("event: ")) {
            type = line.substring(7);
          } else if (line.startsWith("data: ")) {
            data = Wired.JSON.readTree(line.substring(6));
          } else if (line.isEmpty() && !type.isEmpty()) {
            return new StreamEvent(id, type, data);
          }
        }
        return null;
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }

    /** The events of the journal up to one of a type, which is the last of them. */
    public List<StreamEvent> upTo(String type) {
      List<StreamEvent> events = new ArrayList<>();
      for (StreamEvent next = next(); next != null; next = next()) {
        if (!next.id().isEmpty()) {
          events.add(next);
        }
        if (next.type().equals(type)) {
          return events;
        }
      }
      throw new AssertionError("The stream ended before " + type + ": " + events);
    }

    @Override
    public void close() {
      try {
        in.close();
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** Each permit lets the working tool end once. */
  public final Semaphore gate = new Semaphore(0);

  private final Path file;
  private final UnaryOperator<McpServerBuilder> settings;
  private final Duration callDeadline;
  private Fermata host;
  private McpServer server;

  public Desk(Path file) {
    this(file, UnaryOperator.identity());
  }

  public Desk(Path file, UnaryOperator<McpServerBuilder> settings) {
    this(file, settings, Settings.DEFAULT.callDeadline());
  }

  private Desk(Path file, UnaryOperator<McpServerBuilder> settings, Duration callDeadline) {
    this.file = file;
    this.settings = settings;
    this.callDeadline = callDeadline;
    start();
  }

  /** One whose calls wait no longer than this. */
  public static Desk impatient(Path file, Duration callDeadline) {
    return new Desk(file, UnaryOperator.identity(), callDeadline);
  }

  private void start() {
    host =
        Fermata.host()
            .store(Store.sqlite(file))
            .agent(desk())
            .agent(greeter("other"))
            .agent(greeter("clerk").internal())
            .settings(Settings.DEFAULT.callDeadline(callDeadline))
            .start();
    McpServerBuilder builder =
        McpServer.serving(host)
            .threads(host.threads())
            .port(0)
            .apiKey("alice", "alice-key")
            .apiKey("bob", "bob-key")
            .apiKey("carol", "carol-key")
            .instructors("carol");
    server = settings.apply(builder).start();
  }

  private static Agent greeter(String name) {
    return Agent.aiHuman(name, Prompt.of(name, ScriptedModels.saying("Hi.")));
  }

  private Agent desk() {
    Model model =
        ScriptedModels.serving(
            Map.of(
                "refund",
                "It is decided.",
                "work",
                "Worked.",
                "note",
                "Noted.",
                "expenses",
                "All are decided.",
                "parcel",
                "It has come."),
            "How can I help?");
    Tool refund =
        Tool.of("refund", "Pays back", (flow, args) -> "paid").approval("Pay the money back?");
    Tool work =
        Tool.of(
            "work",
            "Works until it may end",
            (flow, args) -> gate.tryAcquire(60, TimeUnit.SECONDS) ? "done" : "late");
    Tool note =
        Tool.of(
            "note",
            "Keeps things",
            (flow, args) -> {
              flow.files().write("/notes/☕ a.txt", "a note");
              flow.storage().put("secret", "in storage");
              flow.emitEvent("noted", Map.of("n", 1));
              return "kept";
            });
    FlowTool expenses =
        FlowTool.of("expenses", "Has expenses approved", expenses())
            .resultMapper(run -> "paid " + run.values().path("paid").asText());
    FlowTool parcel = FlowTool.of("parcel", "Waits for a parcel", parcel());
    return Agent.aiHuman(
            "desk",
            Prompt.of("support", model)
                .text("Help.")
                .env("tone")
                .tools(refund, work, note, expenses, parcel))
        .description("A support desk.");
  }

  /** Whether an expense is approved, and how many of them are paid. */
  public record Expenses(@Nullable Boolean approved, @Computed @Nullable Integer paid) {}

  /** Asks the same about two expenses. */
  private static Flow<Expenses> expenses() {
    return Flow.of("expenses", Expenses.class)
        .description("Has expenses approved.")
        .ask("decide", q -> q.question("approved", "Is the next expense approved?"))
        .act("pay", Desk::pay)
        .edge(Flow.START, "decide")
        .edge("decide", "pay")
        .decide("pay", d -> d.when(Condition.visits("pay").lt(2)).to("decide").otherwise(Flow.END))
        .compile();
  }

  private static Flow<Expenses> parcel() {
    return Flow.of("parcel", Expenses.class)
        .description("Waits for a parcel.")
        .waitFor("wait", "come")
        .edge(Flow.START, "wait")
        .edge("wait", Flow.END)
        .compile();
  }

  private static void pay(Run<Expenses> run) {
    Integer before = run.state().paid();
    int approved = Boolean.TRUE.equals(run.state().approved()) ? 1 : 0;
    run.set("paid", (before == null ? 0 : before) + approved);
  }

  /** Shuts down gracefully and restarts on the same file, at another port. */
  public void restart() {
    close();
    start();
  }

  public Fermata host() {
    return host;
  }

  public McpServer server() {
    return server;
  }

  @Override
  public void close() {
    server.close();
    host.close();
  }

  // --- clients ---------------------------------------------------------------------------------

  public Client alice() {
    return new Client("alice-key");
  }

  /** May instruct agents. */
  public Client carol() {
    return new Client("carol-key");
  }

  public Client bob() {
    return new Client("bob-key");
  }

  /** Somebody with a key. */
  public final class Client {
    private final Map<String, String> headers = new LinkedHashMap<>();

    private Client(String key) {
      headers.put("Authorization", "Bearer " + key);
      headers.put("Content-Type", "application/json");
    }

    public Client with(String header, String value) {
      headers.put(header, value);
      return this;
    }

    public Client without(String header) {
      headers.remove(header);
      return this;
    }

    HttpRequest request(String method, String path, @Nullable String body) {
      URI uri = server.endpoint().resolve(path);
      HttpRequest.Builder request =
          HttpRequest.newBuilder(uri)
              .method(
                  method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
      headers.forEach(request::header);
      return request.build();
    }

    public Said send(String method, String path, @Nullable String body) {
      try {
        HttpResponse<byte[]> raw =
            CLIENT.send(request(method, path, body), BodyHandlers.ofByteArray());
        boolean json =
            raw.headers().firstValue("Content-Type").orElse("").equals("application/json");
        return new Said(
            raw.statusCode(), raw, json ? Wired.JSON.readTree(raw.body()) : Json.object());
      } catch (IOException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    public Said get(String path) {
      return send("GET", path, null);
    }

    public Said post(String path, @Nullable String body) {
      return send("POST", path, body);
    }

    /** A new thread's path. */
    public String thread() {
      return post("/threads", "{\"agent\":\"desk\"}").is(201).header("Location");
    }

    /** The outcome of a message, once the thread has settled. */
    public JsonNode says(String thread, String content) {
      ObjectNode body = Json.object().put("content", content);
      return post(thread + "/messages?wait=30", body.toString()).is(200).body();
    }

    public Listening listen(String path) {
      Listening listening = tryToListen(path);
      assertThat(listening.status()).isEqualTo(200);
      return listening;
    }

    public Listening tryToListen(String path) {
      try {
        return new Listening(CLIENT.send(request("GET", path, null), BodyHandlers.ofInputStream()));
      } catch (IOException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  public static List<String> contents(JsonNode messages) {
    List<String> contents = new ArrayList<>();
    messages.forEach(message -> contents.add(Objects.toString(message.get("content").textValue())));
    return contents;
  }
}
