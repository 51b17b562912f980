package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.session.call.WidgetPage;
import io.fermata.session.call.WidgetPage.Permission;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** How tools and their pages are described to clients that render them. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PagesTest {
  private static final String URI = "ui://fermata/weather.html";
  private static final String UI = "{\"extensions\":{\"io.modelcontextprotocol/ui\":{}}}";
  private static final String CHAT_GPT =
      "{\"experimental\":{\"openai/visibility\":{\"enabled\":true}}}";

  private McpServer server;

  @BeforeAll
  void start() {
    WidgetPage page =
        WidgetPage.of("<!doctype html><title>Weather</title>")
            .connects("https://api.example.com")
            .loads("https://cdn.example.com")
            .frames("https://maps.example.com")
            .bases("https://base.example.com")
            .leads("https://shop.example.com")
            .may(Permission.CLIPBOARD_WRITE, Permission.CAMERA)
            .domain("weather.example.net")
            .borderless();
    server =
        McpServer.plain()
            .tool(
                McpTool.of("weather", "Shows the weather")
                    .title("Weather")
                    .page(page)
                    .call(call -> McpResult.structured(call.arguments())))
            .tool(
                McpTool.of("refresh", "Fetches the weather again")
                    .appOnly()
                    .call(call -> McpResult.text("sunny")))
            .tool(
                McpTool.of("forecast", "Thinks about the weather")
                    .modelOnly()
                    .call(call -> McpResult.text("rain")))
            .port(0)
            .start();
  }

  @AfterAll
  void stop() {
    server.close();
  }

  private Wired client() {
    return new Wired(server);
  }

  private JsonNode meta(int tool) {
    return client().modern("tools/list", "").result().path("tools").path(tool).path("_meta");
  }

  @Test
  void aToolNamesItsPageAndWhoMayCallItInEveryDialect() {
    JsonNode meta = meta(0);
    assertThat(meta.at("/ui/resourceUri").asText()).isEqualTo(URI);
    assertThat(meta.at("/ui/visibility").toString()).isEqualTo("[\"model\",\"app\"]");
    assertThat(meta.path("ui/resourceUri").asText()).isEqualTo(URI);
    assertThat(meta.path("openai/outputTemplate").asText()).isEqualTo(URI);
    assertThat(meta.path("openai/widgetAccessible").asBoolean()).isTrue();
    assertThat(meta.path("openai/toolInvocation/invoking").asText()).isEqualTo("Opening Weather");
    assertThat(meta.path("openai/toolInvocation/invoked").asText()).isEqualTo("Weather");
    assertThat(meta.has("openai/visibility")).isFalse();
  }

  @Test
  void aToolForPagesAndOneForModelsSaySo() {
    JsonNode pages = meta(1);
    assertThat(pages.at("/ui/visibility").toString()).isEqualTo("[\"app\"]");
    assertThat(pages.path("openai/visibility").asText()).isEqualTo("private");
    assertThat(pages.path("openai/widgetAccessible").asBoolean()).isTrue();
    assertThat(pages.path("ui").has("resourceUri")).isFalse();
    JsonNode models = meta(2);
    assertThat(models.at("/ui/visibility").toString()).isEqualTo("[\"model\"]");
    assertThat(models.has("openai/widgetAccessible")).isFalse();
  }

  @Test
  void aPageDeclaresWhatItNeedsWithItsOneContent() {
    JsonNode contents =
        client()
            .with("Mcp-Name", URI)
            .modern("resources/read", "\"uri\":\"" + URI + "\"")
            .result()
            .path("contents");
    assertThat(contents).hasSize(1);
    JsonNode page = contents.path(0);
    assertThat(page.path("uri").asText()).isEqualTo(URI);
    assertThat(page.path("mimeType").asText()).isEqualTo("text/html;profile=mcp-app");
    assertThat(page.path("text").asText()).startsWith("<!doctype html>");
    assertThat(page.at("/_meta/ui").toString())
        .isEqualTo(
            "{\"csp\":{\"connectDomains\":[\"https://api.example.com\"],"
                + "\"resourceDomains\":[\"https://cdn.example.com\"],"
                + "\"frameDomains\":[\"https://maps.example.com\"],"
                + "\"baseUriDomains\":[\"https://base.example.com\"]},"
                + "\"permissions\":{\"camera\":{},\"clipboardWrite\":{}},"
                + "\"domain\":\"weather.example.net\",\"prefersBorder\":false}");
    JsonNode meta = page.path("_meta");
    assertThat(meta.path("openai/widgetCSP").toString())
        .isEqualTo(
            "{\"connect_domains\":[\"https://api.example.com\"],"
                + "\"resource_domains\":[\"https://cdn.example.com\"],"
                + "\"frame_domains\":[\"https://maps.example.com\"],"
                + "\"redirect_domains\":[\"https://shop.example.com\"]}");
    assertThat(meta.path("openai/widgetDomain").asText()).isEqualTo("weather.example.net");
    assertThat(meta.path("openai/widgetPrefersBorder").asBoolean(true)).isFalse();
    assertThat(meta.path("openai/widgetDescription").asText()).isEqualTo("Shows the weather");
    JsonNode listed = client().modern("resources/list", "").result().at("/resources/0");
    assertThat(listed.path("uri").asText()).isEqualTo(URI);
    assertThat(listed.path("_meta")).isEqualTo(meta);
  }

  @Test
  void aServerWithPagesSaysThatItHasSome() {
    assertThat(
            client()
                .modern("server/discover", "")
                .result()
                .at("/capabilities/extensions/io.modelcontextprotocol~1ui/mimeTypes/0")
                .asText())
        .isEqualTo("text/html;profile=mcp-app");
  }

  @Test
  void aToolForPagesIsRefusedToAClientThatShowsNone() {
    Wired.Said refused = refresh("{}");
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.code()).isEqualTo(-32021);
    assertThat(refused.message()).contains("refresh", "io.modelcontextprotocol/ui");
    assertThat(
            refused
                .body()
                .at("/error/data/requiredCapabilities/extensions/io.modelcontextprotocol~1ui")
                .isObject())
        .isTrue();
    assertThat(refresh(UI).result().at("/content/0/text").asText()).isEqualTo("sunny");
    assertThat(refresh(CHAT_GPT).result().at("/content/0/text").asText()).isEqualTo("sunny");
  }

  private Wired.Said refresh(String capabilities) {
    Wired client = client();
    return client.send(
        client.modernMessage("tools/call", "refresh", "\"name\":\"refresh\"", capabilities));
  }
}
