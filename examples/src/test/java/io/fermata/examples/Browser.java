package io.fermata.examples;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A real Chromium without a window, driven over the DevTools protocol. */
public final class Browser implements AutoCloseable {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final List<String> NAMES =
      List.of("chromium", "chromium-browser", "google-chrome");
  private static final int SECONDS = 30;

  /**
   * Lets only one element of a page see the next click. It yields that element; {@code aim()} ends
   * it and says whether the click reached the element.
   */
  private static final String AIM =
      """
      (() => {
        const element = document.querySelector('%s');
        const events = ['mousedown', 'mouseup', 'click'];
        let reached = false;
        const guard = event => {
          if (element.contains(event.target)) {
            reached ||= event.type === 'click';
          } else {
            event.preventDefault();
            event.stopImmediatePropagation();
          }
        };
        events.forEach(each => addEventListener(each, guard, true));
        window.aim = () => {
          events.forEach(each => removeEventListener(each, guard, true));
          return reached;
        };
        return element;
      })()
      """;

  private final Process process;
  private final Map<Integer, CompletableFuture<JsonNode>> open = new ConcurrentHashMap<>();
  private final Map<String, Tab> tabs = new ConcurrentHashMap<>();
  private final AtomicInteger lastId = new AtomicInteger();
  private final WebSocket socket;

  private Browser(Process process, URI address) {
    this.process = process;
    this.socket =
        HttpClient.newHttpClient().newWebSocketBuilder().buildAsync(address, new Ears()).join();
  }

  /**
   * Starts the browser of this machine.
   *
   * @param profile an empty folder
   */
  public static Browser start(Path profile) throws IOException {
    Process process = launched(profile);
    Path portFile = profile.resolve("DevToolsActivePort");
    eventually(() -> "The browser did not start", () -> lines(portFile).size() == 2);
    List<String> lines = lines(portFile);
    return new Browser(process, URI.create("ws://127.0.0.1:" + lines.get(0) + lines.get(1)));
  }

  private static Process launched(Path profile) {
    for (String name : NAMES) {
      try {
        return new ProcessBuilder(
                name,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--hide-scrollbars",
                // A page in the background works as one in the foreground.
                "--disable-renderer-backgrounding",
                "--disable-backgrounding-occluded-windows",
                "--disable-background-timer-throttling",
                // Frames of other origins in one process are all seen over one connection.
                "--disable-site-isolation-trials",
                "--disable-features=IsolateSandboxedIframes",
                "--remote-debugging-port=0",
                "--user-data-dir=" + profile,
                "about:blank")
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
      } catch (IOException e) {
        // Perhaps under the next name.
      }
    }
    throw new AssertionError(
        "There is no Chromium on the PATH; install it (apt-get install chromium), or leave out the"
            + " tag tools");
  }

  private static List<String> lines(Path file) {
    try {
      return Files.exists(file) ? Files.readAllLines(file) : List.of();
    } catch (IOException e) {
      return List.of();
    }
  }

  private static void eventually(Supplier<String> otherwise, BooleanSupplier condition) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new AssertionError(otherwise.get());
      }
      try {
        Thread.sleep(20);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /** Opens an empty page. */
  public Tab tab(int width, int height) {
    String target =
        send(null, "Target.createTarget", Json.object().put("url", "about:blank"))
            .path("targetId")
            .asText();
    ObjectNode attach = Json.object().put("targetId", target).put("flatten", true);
    String session = send(null, "Target.attachToTarget", attach).path("sessionId").asText();
    Tab tab = new Tab(target, session);
    tabs.put(tab.session, tab);
    for (String domain : List.of("Page", "Runtime", "Network", "Audits", "DOM")) {
      tab.send(domain + ".enable", Json.object());
    }
    tab.resize(width, height);
    return tab;
  }

  private JsonNode send(@Nullable String session, String method, ObjectNode params) {
    int id = lastId.incrementAndGet();
    CompletableFuture<JsonNode> answer = new CompletableFuture<>();
    open.put(id, answer);
    ObjectNode message = Json.object().put("id", id).put("method", method);
    message.set("params", params);
    if (session != null) {
      message.put("sessionId", session);
    }
    synchronized (socket) {
      socket.sendText(Json.text(message), true).join();
    }
    JsonNode answered = answer.orTimeout(SECONDS, TimeUnit.SECONDS).join();
    if (answered.has("error")) {
      throw new AssertionError(method + " was refused: " + answered.path("error"));
    }
    return answered.path("result");
  }

  /** A message of the browser. */
  private final class Ears implements WebSocket.Listener {
    private final StringBuilder text = new StringBuilder();

    @Override
    public @Nullable CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
      text.append(data);
      if (last) {
        received(text.toString());
        text.setLength(0);
      }
      from.request(1);
      return null;
    }

    private void received(String json) {
      try {
        JsonNode message = MAPPER.readTree(json);
        CompletableFuture<JsonNode> answer = open.remove(message.path("id").asInt());
        Tab tab = tabs.get(message.path("sessionId").asText());
        if (answer != null) {
          answer.complete(message);
        } else if (tab != null) {
          tab.received(message.path("method").asText(), message.path("params"));
        }
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  @Override
  public void close() {
    List<ProcessHandle> all =
        Stream.concat(process.descendants(), Stream.of(process.toHandle())).toList();
    all.forEach(ProcessHandle::destroy);
    // They write into the profile until all have ended.
    all.forEach(each -> each.onExit().orTimeout(SECONDS, TimeUnit.SECONDS).join());
  }

  /** A page, and the frames in it: the page itself is at depth 0, the first frame in it at 1. */
  public final class Tab implements AutoCloseable {
    private final String target;
    private final String session;
    private final Map<String, Integer> contexts = new ConcurrentHashMap<>();
    private final Map<String, String> requests = new ConcurrentHashMap<>();
    private final Set<String> violations = ConcurrentHashMap.newKeySet();

    private Tab(String target, String session) {
      this.target = target;
      this.session = session;
    }

    private JsonNode send(String method, ObjectNode params) {
      return Browser.this.send(session, method, params);
    }

    private void received(String event, JsonNode params) {
      switch (event) {
        case "Runtime.executionContextCreated" -> {
          JsonNode context = params.path("context");
          if (context.at("/auxData/isDefault").asBoolean()) {
            contexts.put(context.at("/auxData/frameId").asText(), context.path("id").asInt());
          }
        }
        case "Runtime.executionContextDestroyed" ->
            contexts.values().remove(params.path("executionContextId").asInt());
        case "Runtime.executionContextsCleared" -> contexts.clear();
        case "Network.requestWillBeSent" ->
            requests.put(params.path("requestId").asText(), params.at("/request/url").asText());
        case "Network.loadingFailed" -> {
          if (params.path("blockedReason").asText().equals("csp")) {
            requests.remove(params.path("requestId").asText());
          }
        }
        case "Audits.issueAdded" -> {
          if (params.at("/issue/code").asText().equals("ContentSecurityPolicyIssue")) {
            violations.add(params.at("/issue/details").toString());
          }
        }
        default -> {}
      }
    }

    public void resize(int width, int height) {
      send(
          "Emulation.setDeviceMetricsOverride",
          Json.object()
              .put("width", width)
              .put("height", height)
              .put("deviceScaleFactor", 2)
              .put("mobile", false));
    }

    /** Runs a script in all documents that are opened from now on, before their own. */
    public void before(String script) {
      send("Page.addScriptToEvaluateOnNewDocument", Json.object().put("source", script));
    }

    public void open(URI address) {
      send("Page.navigate", Json.object().put("url", address.toString()));
      until(0, "document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /** The value of a script in a frame, awaited if it is a promise. */
    public JsonNode run(int depth, String script) {
      return evaluate(depth, script, true).path("value");
    }

    private JsonNode evaluate(int depth, String script, boolean byValue) {
      Integer context = context(depth);
      if (context == null) {
        throw new AssertionError("There is no frame at depth " + depth);
      }
      JsonNode said =
          send(
              "Runtime.evaluate",
              Json.object()
                  .put("expression", script)
                  .put("contextId", context)
                  .put("awaitPromise", true)
                  .put("returnByValue", byValue));
      if (said.has("exceptionDetails")) {
        throw new AssertionError(script + " threw " + said.at("/exceptionDetails/exception"));
      }
      return said.path("result");
    }

    private @Nullable Integer context(int depth) {
      JsonNode tree = frames();
      for (int level = 0; level < depth; level++) {
        tree = tree.at("/childFrames/0");
      }
      return contexts.get(tree.at("/frame/id").asText());
    }

    private JsonNode frames() {
      return send("Page.getFrameTree", Json.object()).path("frameTree");
    }

    /** Waits until a script in a frame yields true. */
    public void until(int depth, String condition) {
      eventually(
          () -> "This never became true: %s; %s".formatted(condition, look(depth)),
          () -> holds(depth, condition));
    }

    private String look(int depth) {
      Integer context = context(depth);
      return context == null
          ? "there is no frame at depth %d of %s".formatted(depth, frames())
          : "the page shows " + run(depth, "document.body.innerText");
    }

    private boolean holds(int depth, String condition) {
      try {
        return run(depth, condition).asBoolean();
      } catch (AssertionError e) {
        // The frame is not there yet, or is just being replaced.
        return false;
      }
    }

    /**
     * Clicks into the middle of an element. A page that changes its layout at that moment may move
     * another element there: that one never sees the click, and it is tried again.
     */
    public void click(int depth, String selector) {
      eventually(
          () -> "A click never reached %s; %s".formatted(selector, look(depth)),
          () -> reached(depth, selector));
    }

    private boolean reached(int depth, String selector) {
      String id = evaluate(depth, AIM.formatted(selector), false).path("objectId").asText();
      ObjectNode object = Json.object().put("objectId", id);
      send("DOM.scrollIntoViewIfNeeded", object);
      JsonNode quad = send("DOM.getContentQuads", object).at("/quads/0");
      double x = (quad.path(0).asDouble() + quad.path(4).asDouble()) / 2;
      double y = (quad.path(1).asDouble() + quad.path(5).asDouble()) / 2;
      for (String type : List.of("mousePressed", "mouseReleased")) {
        send(
            "Input.dispatchMouseEvent",
            Json.object()
                .put("type", type)
                .put("x", x)
                .put("y", y)
                .put("button", "left")
                .put("clickCount", 1));
      }
      return run(depth, "window.aim === undefined || window.aim()").asBoolean();
    }

    /** Presses a key that has the given number in Windows. */
    public void press(String key, int number) {
      ObjectNode event =
          Json.object().put("key", key).put("code", key).put("windowsVirtualKeyCode", number);
      send("Input.dispatchKeyEvent", event.put("type", "rawKeyDown"));
      send("Input.dispatchKeyEvent", event.put("type", "keyUp"));
    }

    /** Keeps a picture of the whole page. */
    public void screenshot(Path file) throws IOException {
      JsonNode size = send("Page.getLayoutMetrics", Json.object()).path("cssContentSize");
      ObjectNode shot = Json.object().put("captureBeyondViewport", true);
      shot.putObject("clip")
          .put("x", 0)
          .put("y", 0)
          .put("width", size.path("width").asDouble())
          .put("height", size.path("height").asDouble())
          .put("scale", 1);
      String data = send("Page.captureScreenshot", shot).path("data").asText();
      Files.write(file, Base64.getDecoder().decode(data));
    }

    /** Waits until the policy of a frame forbids something. */
    public void whenForbidden() {
      eventually(() -> "Nothing was forbidden", () -> !violations.isEmpty());
    }

    @Override
    public void close() {
      tabs.remove(session);
      Browser.this.send(null, "Target.closeTarget", Json.object().put("targetId", target));
    }

    /** The addresses that the page and its frames requested and were allowed to reach. */
    public List<String> requests() {
      return new ArrayList<>(requests.values());
    }

    /** What the policy of a frame forbade. */
    public List<String> violations() {
      return new ArrayList<>(violations);
    }
  }
}
