package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolReply;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A real host that a test can restart, and a client of it that checks every reply's schema. */
public final class TestHost implements AutoCloseable {
  private static final SchemaRegistry SCHEMAS =
      SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12);

  /** All members that replies may have; the published schema names the common ones only. */
  private static final Schema REPLY =
      SCHEMAS.getSchema(TestHost.class.getResourceAsStream("reply.schema.json"));

  private final Store store;
  private final UnaryOperator<Settings> settings;
  private final Retention retention;
  private final List<DisplayTool> displays = new ArrayList<>();
  private Flow<?>[] flows;
  private Fermata fermata;

  public TestHost(Store store, Flow<?>... flows) {
    this(store, s -> s, flows);
  }

  public TestHost(Store store, UnaryOperator<Settings> settings, Flow<?>... flows) {
    this(store, settings, Retention.DEFAULT, flows);
  }

  public TestHost(Store store, Retention retention, Flow<?>... flows) {
    this(store, s -> s, retention, flows);
  }

  private TestHost(
      Store store, UnaryOperator<Settings> settings, Retention retention, Flow<?>... flows) {
    this.store = store;
    this.settings = settings;
    this.retention = retention;
    this.flows = flows;
    for (Flow<?> flow : flows) {
      flow.displayTools()
          .forEach(name -> displays.add(DisplayTool.of(name, name, "Shows.", "<html></html>")));
    }
    this.fermata = start();
  }

  private Fermata start() {
    HostBuilder builder =
        Fermata.host().store(store).settings(settings.apply(Settings.DEFAULT)).retention(retention);
    for (Flow<?> flow : flows) {
      builder.flow(flow);
    }
    displays.forEach(builder::display);
    return builder.start();
  }

  public Fermata fermata() {
    return fermata;
  }

  /** Loses the process, as far as a test can, and starts another on the same store. */
  public void crash(Flow<?>... newFlows) {
    fermata.crash();
    again(newFlows);
  }

  public void restart(Flow<?>... newFlows) {
    fermata.close();
    again(newFlows);
  }

  private void again(Flow<?>... newFlows) {
    if (newFlows.length > 0) {
      flows = newFlows;
    }
    fermata = start();
  }

  public Client client() {
    return client(flows[0].id());
  }

  public Client client(String flow) {
    return new Client(flow);
  }

  @Override
  public void close() {
    fermata.close();
  }

  /** One client in one conversation; it sends back the handle it was given. */
  public final class Client {
    final String flow;
    public String principal = "local";
    public @Nullable String sessionId;
    public @Nullable String transport;
    ObjectNode meta = Json.object();

    private Client(String flow) {
      this.flow = flow;
    }

    public ToolReply start(Object... updates) {
      return send(arguments("start").put("intent", "to test"), updates);
    }

    public ToolReply proceed(Object... updates) {
      return send(arguments("continue"), updates);
    }

    ToolReply reset(Object... updates) {
      return send(arguments("reset"), updates);
    }

    public ToolReply status() {
      return send(arguments("status"));
    }

    public ToolReply cancel() {
      return send(arguments("cancel"));
    }

    CompletableFuture<ToolReply> startLater() {
      return sendLater(arguments("start").put("intent", "to test"));
    }

    CompletableFuture<ToolReply> cancelLater() {
      return sendLater(arguments("cancel"));
    }

    CompletableFuture<ToolReply> proceedLater(Object... updates) {
      return sendLater(arguments("continue"), updates);
    }

    Client callId(String id) {
      meta = Json.object().put("fermata/callId", id);
      return this;
    }

    public Client meta(String key, String value) {
      meta.put(key, value);
      return this;
    }

    Client noMeta() {
      meta = Json.object();
      return this;
    }

    public ObjectNode arguments(String action) {
      return Json.object().put("action", action);
    }

    public ToolReply send(ObjectNode arguments, Object... updates) {
      return got(sendLater(arguments, updates));
    }

    CompletableFuture<ToolReply> sendLater(ObjectNode arguments, Object... updates) {
      if (updates.length > 0) {
        ObjectNode object = arguments.putObject("stateUpdates");
        for (int i = 0; i < updates.length; i += 2) {
          object.set((String) updates[i], Json.tree(updates[i + 1]));
        }
      }
      if (sessionId != null && !arguments.has("sessionId")) {
        arguments.put("sessionId", sessionId);
      }
      ToolCall call = new ToolCall(flow, principal, arguments, meta.deepCopy(), transport);
      return fermata.call(call).thenApply(this::checked).toCompletableFuture();
    }

    private ToolReply checked(ToolReply reply) {
      ToolContract contract =
          fermata.tools().stream().filter(t -> t.name().equals(flow)).findFirst().orElseThrow();
      Schema schema = SCHEMAS.getSchema(contract.outputSchema());
      for (Schema each : List.of(schema, REPLY)) {
        assertThat(each.validate(reply.structured()))
            .as("the reply conforms to the schema: %s", reply.structured())
            .isEmpty();
      }
      JsonNode given = reply.structured().path("sessionId");
      if (given.isTextual()) {
        sessionId = given.textValue();
      }
      return reply;
    }
  }

  public static void eventually(BooleanSupplier condition) throws InterruptedException {
    boolean met = condition.getAsBoolean();
    for (int i = 0; i < 2_400 && !met; i++) {
      Thread.sleep(50);
      met = condition.getAsBoolean();
    }
    assertThat(met).isTrue();
  }

  public static ToolReply got(CompletableFuture<ToolReply> reply) {
    try {
      return reply.get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("No reply came", e);
    }
  }

  public static String code(ToolReply reply) {
    return reply.structured().path("code").asText("none");
  }

  public static String status(ToolReply reply) {
    return reply.structured().path("status").asText();
  }

  public static String field(ToolReply reply) {
    return reply.structured().path("field").asText("none");
  }
}
