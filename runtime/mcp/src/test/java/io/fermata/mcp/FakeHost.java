package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.ToolHints;
import io.fermata.flow.json.Json;
import io.fermata.session.ToolHost;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.Health;
import io.fermata.session.call.HostBus;
import io.fermata.session.call.LocalBus;
import io.fermata.session.call.Tasks;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.Handles;
import io.fermata.session.key.TestHandles;
import java.math.BigDecimal;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A host whose tools each do one thing that a transport must cope with. */
public class FakeHost implements ToolHost {
  static final String PAGE = "<!doctype html><title>Plans</title><p>Plans: ☕ 𝄐</p>";

  /** The data of the widget. */
  record Plans(BigDecimal price) {}

  /** A call that runs until a test answers it. */
  public record Work(Consumer<ToolProgress> progress, CompletableFuture<ToolReply> reply) {
    public void emits(String node, String name, JsonNode payload) {
      progress.accept(new ToolProgress(node, name, payload));
    }

    public void streams(String... pieces) {
      for (String piece : pieces) {
        progress.accept(ToolProgress.text("write", piece));
      }
    }

    void handedBack() {
      reply.complete(new ToolReply(status("error").put("code", "still_working"), Json.object()));
    }

    public void ends() {
      reply.complete(new ToolReply(status("complete"), Json.object()));
    }
  }

  /** Its current health. */
  public volatile Health health = Health.GOOD;

  public final CompletableFuture<String> lost = new CompletableFuture<>();

  /** Whether it does not report its health. */
  public volatile boolean silent;

  public HostBus bus = new LocalBus();

  /** Its tasks; none at first. */
  public volatile Tasks tasks = Tasks.none();

  private final Queue<Work> begun = new ConcurrentLinkedQueue<>();
  private final BlockingQueue<Work> works = new LinkedBlockingQueue<>();

  /** All calls that arrived. */
  public final Queue<ToolCall> calls = new ConcurrentLinkedQueue<>();

  private final Handles handles = TestHandles.ofStore("fake");
  private final ToolReply nothing = new ToolReply(status("complete"), Json.object());

  @Override
  public List<ToolContract> tools() {
    return List.of(
        contract("noop", "Answers at once"),
        hinted(contract("echo", "Says how it was called")),
        contract("slow", "Takes its time"),
        contract("working", "Works until the test ends it"),
        contract("wrong", "Ends in an error"),
        contract("failing", "Breaks its promise never to fail"),
        contract("throwing", "Throws"));
  }

  private static ToolContract hinted(ToolContract tool) {
    return new ToolContract(
        tool.name(),
        tool.title(),
        tool.description(),
        tool.inputSchema(),
        tool.outputSchema(),
        tool.tasks(),
        tool.kind(),
        new ToolHints(false, false, true, false),
        "## How echoes are called");
  }

  private static ToolContract contract(String name, String description) {
    ObjectNode input = Json.object().put("type", "object");
    ObjectNode output = Json.object().put("type", "object");
    output.putObject("properties").putObject("status").put("type", "string");
    return new ToolContract(name, "The " + name, description, input, output);
  }

  @Override
  public List<DisplayTool> displays() {
    return List.of(
        DisplayTool.of("show_plans", "Plans", "Shows the plans", PAGE).data(Plans.class));
  }

  @Override
  public CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress) {
    if (call.tool().equals("noop")) {
      return CompletableFuture.completedFuture(nothing);
    }
    calls.add(call);
    return switch (call.tool()) {
      case "echo" -> CompletableFuture.completedFuture(echo(call));
      case "slow" -> later(call);
      case "working" -> working(call, progress);
      case "wrong" ->
          CompletableFuture.completedFuture(
              new ToolReply(status("error").put("code", "handler_failed"), Json.object()));
      case "failing" -> CompletableFuture.failedFuture(new IllegalStateException("secret /etc"));
      case "throwing" -> throw new IllegalStateException("secret /etc");
      default -> throw new IllegalArgumentException("No flow " + call.tool());
    };
  }

  private CompletionStage<ToolReply> working(ToolCall call, Consumer<ToolProgress> progress) {
    Work work = new Work(progress, new CompletableFuture<>());
    begun.add(work);
    works.add(work);
    if (call.arguments().path("atOnce").asBoolean()) {
      work.emits("search", "offers", Json.object().put("found", 3));
      work.streams("at once");
      work.ends();
    }
    return work.reply();
  }

  /** The call that works, once it has arrived. */
  public Work work() {
    try {
      return Objects.requireNonNull(works.poll(60, TimeUnit.SECONDS), "no call arrived");
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static CompletionStage<ToolReply> later(ToolCall call) {
    int millis = call.arguments().path("millis").asInt(300);
    return new CompletableFuture<ToolReply>()
        .completeOnTimeout(echo(call), millis, TimeUnit.MILLISECONDS);
  }

  private static ToolReply echo(ToolCall call) {
    ObjectNode said = status("complete").put("principal", call.principal());
    said.set("arguments", call.arguments());
    said.set("meta", call.meta());
    said.put("transportSession", call.transportSession());
    ObjectNode meta = Json.object();
    meta.putObject("fermata/run").put("flow", call.tool());
    return new ToolReply(said, meta);
  }

  private static ObjectNode status(String status) {
    return Json.object().put("status", status);
  }

  @Override
  public CompletionStage<String> lost() {
    return lost;
  }

  @Override
  public CompletionStage<Health> health() {
    return silent ? new CompletableFuture<>() : CompletableFuture.completedFuture(health);
  }

  @Override
  public void handBack() {
    begun.forEach(Work::handedBack);
  }

  @Override
  public Tasks tasks() {
    return tasks;
  }

  @Override
  public HostBus bus() {
    return bus;
  }

  @Override
  public Handles handles() {
    return handles;
  }
}
