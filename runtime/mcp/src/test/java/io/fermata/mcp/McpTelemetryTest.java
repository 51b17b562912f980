package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.session.key.LogLabels;
import io.fermata.session.telemetry.Meters;
import io.fermata.session.telemetry.Spans;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.MDC;

/** Metrics, spans and logs of a server's calls. */
@Timeout(30)
class McpTelemetryTest {
  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
  private static final String OTHER = "1af7651916cd43dd8448eb211c80319c";
  private static final String CALLER = "b7ad6b7169203331";

  private final InMemorySpanExporter exported = InMemorySpanExporter.create();
  private final OpenTelemetrySdk sdk =
      OpenTelemetrySdk.builder()
          .setTracerProvider(
              SdkTracerProvider.builder()
                  .addSpanProcessor(SimpleSpanProcessor.create(exported))
                  .build())
          .build();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final AtomicReference<Map<String, String>> labels = new AtomicReference<>(Map.of());
  private McpServer server;

  @BeforeEach
  void start() {
    server =
        McpServer.serving(new FakeHost())
            .telemetry(Spans.of(sdk), Meters.of(registry))
            .tool(
                McpTool.of("add", "Adds")
                    .call(
                        call -> {
                          labels.set(MDC.getCopyOfContextMap());
                          sdk.getTracer("database").spanBuilder("query").startSpan().end();
                          return McpResult.text("3");
                        }))
            .tool(McpTool.of("bad", "Fails").call(call -> McpResult.error("no")))
            .port(0)
            .start();
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private static String traceparent(String trace) {
    return "00-" + trace + "-" + CALLER + "-01";
  }

  private Wired.Said call(Wired client, String tool, String meta) {
    return client.send(
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":{},\"_meta\":{%s}}}"
            .formatted(tool, meta));
  }

  private static void awaitThat(BooleanSupplier so) throws InterruptedException {
    while (!so.getAsBoolean()) {
      Thread.sleep(5);
    }
  }

  private SpanData span(String name) throws InterruptedException {
    awaitThat(() -> !named(name).isEmpty());
    assertThat(named(name)).hasSize(1);
    return named(name).get(0);
  }

  private List<SpanData> named(String name) {
    return exported.getFinishedSpanItems().stream()
        .filter(it -> it.getName().equals(name))
        .toList();
  }

  @Test
  void aPlainToolContinuesTheTraceOfTheRequestAndSpansOfItsHandlerAreWithinIt() throws Exception {
    call(new Wired(server), "add", "\"traceparent\":\"" + traceparent(TRACE) + "\"");

    SpanData called = span("tools/call add");
    assertThat(called.getTraceId()).isEqualTo(TRACE);
    assertThat(called.getParentSpanId()).isEqualTo(CALLER);
    assertThat(called.getKind()).isEqualTo(SpanKind.SERVER);
    assertThat(span("query").getParentSpanId()).isEqualTo(called.getSpanId());
  }

  @Test
  void theHeadersOfTheRequestAreTheSecondChoice() throws Exception {
    Wired client =
        new Wired(server)
            .with("MCP-Protocol-Version", "2025-06-18")
            .with("traceparent", traceparent(OTHER))
            .with("baggage", "a=b");

    JsonNode echoed = call(client, "echo", "").result().at("/structuredContent/meta");
    assertThat(echoed.path("traceparent").asText()).isEqualTo(traceparent(OTHER));
    assertThat(echoed.path("baggage").asText()).isEqualTo("a=b");

    String own = "\"traceparent\":\"" + traceparent(TRACE) + "\"";
    JsonNode ofItself = call(client, "echo", own).result().at("/structuredContent/meta");
    assertThat(ofItself.path("traceparent").asText()).isEqualTo(traceparent(TRACE));
    assertThat(ofItself.has("baggage")).isFalse();

    call(client, "add", "");
    assertThat(span("tools/call add").getTraceId()).isEqualTo(OTHER);
  }

  @Test
  void aTraceparentThatIsNoneIsIgnored() throws Exception {
    Wired.Said said = call(new Wired(server), "add", "\"traceparent\":[\"" + TRACE + "\"]");

    assertThat(said.result().at("/content/0/text").asText()).isEqualTo("3");
    assertThat(span("tools/call add").getParentSpanContext().isValid()).isFalse();
  }

  @Test
  void plainCallsAndRequestsAreCounted() throws Exception {
    call(new Wired(server), "add", "");
    call(new Wired(server), "bad", "");
    call(new Wired(server), "unheard_of", "");
    new Wired(server).request("no/method", "");

    awaitThat(() -> registry.find("fermata.calls").timers().size() >= 2);
    assertThat(calls("add", "ok")).isEqualTo(1);
    assertThat(calls("bad", "error")).isEqualTo(1);
    awaitThat(() -> registry.find("fermata.mcp.requests").timers().size() >= 3);
    assertThat(requests("tools/call", "ok")).isEqualTo(2);
    assertThat(requests("tools/call", "refused")).isEqualTo(1);
    assertThat(requests("unknown", "refused")).isEqualTo(1);
    assertThat(registry.getMetersAsString()).doesNotContain("unheard_of", "no/method");
  }

  private long calls(String tool, String status) {
    return registry
        .get("fermata.calls")
        .tags("tool", tool, "kind", "plain", "status", status)
        .timer()
        .count();
  }

  private long requests(String method, String outcome) {
    return registry
        .get("fermata.mcp.requests")
        .tags("method", method, "outcome", outcome)
        .timer()
        .count();
  }

  @Test
  void aHandlerLogsAboutItsToolAndCaller() {
    call(new Wired(server), "add", "");

    assertThat(labels.get())
        .containsEntry(LogLabels.TOOL, "add")
        .hasEntrySatisfying(
            LogLabels.PRINCIPAL, digest -> assertThat(digest).isNotBlank().doesNotContain("local"));
  }
}
