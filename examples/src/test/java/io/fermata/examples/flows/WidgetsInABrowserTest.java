package io.fermata.examples.flows;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.examples.AppsHost;
import io.fermata.examples.Browser;
import io.fermata.flow.json.Json;
import io.fermata.mcp.McpServer;
import io.fermata.persistence.Store;
import io.fermata.session.call.ToolCall;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DayOfWeek;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.temporal.TemporalAdjusters;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The pages of the examples in a real browser: in a host of MCP Apps, with ChatGPT's bridge, and
 * standalone. It needs Chromium on the PATH, and writes pictures to target/screenshots.
 */
@Tag("tools")
class WidgetsInABrowserTest {
  private static final Path PICTURES = Path.of("target", "screenshots");
  private static final int HOST = 0;
  private static final int PAGE = 2;
  private static final String QUOTE =
      "host.converse('A plan for the three of us at Acme, please.', 'quote',"
          + " {name: 'Ann', email: 'ann@acme.com', companySize: '11-50', seats: 3})";
  private static final String NOTE = "document.getElementById('note').textContent";
  private static final String BUTTON = "document.getElementById('send').textContent";

  @TempDir static Path folder;

  private static Browser browser;
  private static ExamplesHost examples;
  private static McpServer server;

  private AppsHost apps;
  private Browser.Tab tab;

  @BeforeAll
  static void start() throws IOException {
    Files.createDirectories(PICTURES);
    browser = Browser.start(Files.createDirectory(folder.resolve("profile")));
    examples = ExamplesHost.start(Store.sqlite(folder.resolve("widgets.db")));
    server = McpServer.serving(examples.host()).port(0).start();
  }

  @AfterAll
  static void stop() {
    server.close();
    examples.close();
    browser.close();
  }

  @BeforeEach
  void open() throws IOException {
    apps = new AppsHost(server.endpoint());
    tab = browser.tab(860, 500);
    tab.open(apps.page());
  }

  @AfterEach
  void close() {
    tab.close();
    apps.close();
  }

  private void shown(String converse) {
    tab.run(HOST, converse);
    phase("choosing");
  }

  private void phase(String phase) {
    tab.until(PAGE, "document.querySelector('main').dataset.phase === '" + phase + "'");
  }

  private String page(String script) {
    return tab.run(PAGE, script).asText();
  }

  private JsonNode quote(String action) throws Exception {
    ObjectNode arguments = Json.object().put("action", action);
    arguments.put("sessionId", tab.run(HOST, "host.session").asText());
    ToolCall call = new ToolCall("quote", "local", arguments, Json.object(), null);
    return examples.host().call(call).toCompletableFuture().get().structured();
  }

  /** Checks that hold for every page at every time. */
  private void kept() {
    assertThat(tab.violations()).isEmpty();
    assertThat(tab.requests())
        .allMatch(
            url -> url.startsWith("about:") || apps.origins().stream().anyMatch(url::startsWith));
  }

  @Test
  void aPlanThatIsClickedIsAnsweredByThePageAndTheRunCompletesWithIt() throws Exception {
    shown(QUOTE);

    assertThat(page("document.body.innerText"))
        .contains("Choose a plan for your company", "$30", "$25", "$22.50", "You save $270");
    assertThat(tab.run(HOST, "host.received.slice(0, 3)").toString())
        .isEqualTo(
            "[\"ui/notifications/sandbox-proxy-ready\",\"ui/initialize\","
                + "\"ui/notifications/initialized\"]");
    tab.until(HOST, "host.received.includes('ui/notifications/size-changed')");
    tab.screenshot(PICTURES.resolve("plans-light.png"));

    tab.click(PAGE, "[data-id=platinum]");
    tab.until(PAGE, BUTTON + " === 'Choose Platinum'");
    assertThat(tab.run(HOST, "host.calls")).isEmpty();
    tab.click(PAGE, "#send");
    phase("done");

    assertThat(page(NOTE)).contains("Thank you, Ann", "Platinum");
    JsonNode called = tab.run(HOST, "host.calls");
    assertThat(called).hasSize(1);
    assertThat(called.at("/0/name").asText()).isEqualTo("quote");
    assertThat(called.at("/0/arguments/action").asText()).isEqualTo("continue");
    assertThat(called.at("/0/arguments/stateUpdates").toString())
        .isEqualTo("{\"selectedPlan\":\"platinum\"}");
    assertThat(tab.run(HOST, "host.known[0]").asText())
        .contains("\"status\":\"complete\"", "\"selectedPlan\":\"platinum\"");
    assertThat(quote("continue").path("code").asText()).isEqualTo("run_completed");
    assertThat(tab.run(HOST, "host.said")).isEmpty();
    tab.screenshot(PICTURES.resolve("plans-chosen.png"));
    assertThat(tab.run(HOST, "host.teardown()").isObject()).isTrue();
    kept();
  }

  @Test
  void aPlanIsChosenWithTheKeyboardAlone() {
    shown(QUOTE);
    tab.click(PAGE, "#title");
    tab.press("Tab", 9);
    tab.until(PAGE, "document.activeElement.value === 'gold'");
    tab.press("ArrowLeft", 37);
    tab.until(PAGE, "document.activeElement.value === 'silver'");
    assertThat(tab.run(PAGE, "document.activeElement.matches(':focus-visible')").asBoolean())
        .isTrue();
    assertThat(page("getComputedStyle(document.activeElement.closest('.card')).outlineStyle"))
        .isEqualTo("solid");
    tab.press("Enter", 13);
    phase("done");
    assertThat(tab.run(HOST, "host.calls[0].arguments.stateUpdates.selectedPlan").asText())
        .isEqualTo("silver");
    kept();
  }

  @Test
  void thePageIsDressedAsItsClientIs() throws Exception {
    shown(QUOTE);
    String paper = "getComputedStyle(document.querySelector('[data-id=silver]')).backgroundColor";
    assertThat(page(paper)).isEqualTo("rgb(255, 255, 255)");

    tab.run(HOST, "host.dark()");
    tab.until(PAGE, paper + " === 'rgb(27, 27, 34)'");
    tab.screenshot(PICTURES.resolve("plans-dark.png"));

    tab.run(HOST, "host.changed({styles: {variables: {'--font-sans': 'Courier'}}})");
    tab.until(PAGE, "getComputedStyle(document.body).fontFamily === 'Courier'");
    tab.run(HOST, "host.changed({locale: 'de-DE'})");
    tab.until(PAGE, "document.body.innerText.includes('22,50')");
    kept();
  }

  @Test
  void theFocusStaysWithThePersonWhoChose() {
    shown(QUOTE);
    tab.click(PAGE, "[data-id=platinum]");
    tab.click(PAGE, "#send");
    phase("done");
    assertThat(page("document.activeElement.id")).isEqualTo("note");
    kept();
  }

  @Test
  void textsFollowTheLocaleAsNumbersDoAndFallBackToEnglish() {
    shown(QUOTE);
    tab.run(HOST, "host.changed({locale: 'de-DE'})");
    tab.until(PAGE, "document.body.innerText.includes('Wählen Sie einen Tarif für Ihre Firma')");
    assertThat(page("document.body.innerText"))
        .contains("Sie sparen", "22,50", "Gold wählen")
        .doesNotContain("You save", "Choose");
    assertThat(page("document.documentElement.lang")).isEqualTo("de");

    tab.run(HOST, "host.changed({locale: 'ja-JP'})");
    tab.until(PAGE, "document.documentElement.lang === 'en'");
    assertThat(page("document.body.innerText")).contains("You save", "Choose Gold");
    kept();
  }

  @Test
  void nothingIsDrawnOfACallThatWasRefused() {
    tab.run(HOST, "host.show('show_plans', {price: 'much', segment: 'personal'})");
    phase("refused");
    assertThat(tab.run(PAGE, "document.querySelectorAll('.card input').length").asInt()).isZero();
    assertThat(page("document.body.innerText")).doesNotContain("Silver", "$");
    assertThat(page(NOTE)).contains("price");
    assertThat(tab.run(PAGE, "document.getElementById('send').hidden").asBoolean()).isTrue();
    kept();
  }

  @Test
  void itFitsANarrowClient() throws Exception {
    tab.resize(390, 800);
    shown(QUOTE);
    assertThat(tab.run(PAGE, "document.documentElement.scrollWidth <= innerWidth").asBoolean())
        .isTrue();
    tab.until(HOST, "document.querySelector('iframe').offsetHeight > 500");
    tab.until(PAGE, "document.documentElement.scrollHeight <= innerHeight");
    tab.screenshot(PICTURES.resolve("plans-narrow.png"));
    kept();
  }

  @Test
  void whatTheServerRefusesIsShown() throws Exception {
    shown(QUOTE);
    quote("cancel");

    tab.click(PAGE, "#send");
    phase("failed");

    assertThat(page("document.querySelector('[role=alert]').textContent")).contains("cancelled");
    assertThat(page(BUTTON)).isEqualTo("Try Gold again");
    tab.screenshot(PICTURES.resolve("plans-refused.png"));
    kept();
  }

  @Test
  void anAnswerThatWasLostIsFetchedByTryingAgain() {
    shown(QUOTE);
    apps.loseNextAnswer();
    tab.click(PAGE, "#send");
    phase("failed");
    assertThat(page(NOTE)).contains("the network is down");

    tab.click(PAGE, "#send");
    phase("done");

    assertThat(tab.run(HOST, "host.calls")).hasSize(2);
    assertThat(tab.run(HOST, "host.known[0]").asText()).contains("\"selectedPlan\":\"gold\"");
    kept();
  }

  @Test
  void withoutASessionTheAssistantIsAskedToAnswer() {
    shown("host.show('show_plans', {price: 5, segment: 'personal'})");
    assertThat(page("document.body.innerText")).contains("Choose your plan", "$5");
    tab.click(PAGE, "[data-id=silver]");
    tab.click(PAGE, "#send");
    phase("noted");
    assertThat(tab.run(HOST, "host.said[0]").asText()).contains("Silver", "selectedPlan");
    kept();
  }

  @Test
  void aTableThatIsGoneIsOfferedNoMoreInTheSamePage() throws Exception {
    String thursday =
        LocalDate.now(ZoneId.systemDefault()).with(TemporalAdjusters.next(DayOfWeek.THURSDAY)) + "";
    String dinner =
        "host.converse('A table for two by the window', 'table', {date: '"
            + thursday
            + "', time: '19:30', guests: 2, name: '%s'})";
    shown(dinner.formatted("Ann"));
    tab.screenshot(PICTURES.resolve("tables-light.png"));
    try (AppsHost theirs = new AppsHost(server.endpoint());
        Browser.Tab other = browser.tab(860, 500)) {
      other.open(theirs.page());
      other.run(HOST, dinner.formatted("Bo"));
      other.until(PAGE, "document.querySelector('[data-id=window]') !== null");
      other.click(PAGE, "[data-id=window]");
      other.click(PAGE, "#send");
      other.until(PAGE, NOTE + ".includes('your reference is')");
    }

    tab.click(PAGE, "[data-id=window]");
    tab.click(PAGE, "#send");
    tab.until(PAGE, "document.body.innerText.includes('window has just been taken')");
    phase("choosing");
    assertThat(tab.run(PAGE, "document.querySelector('[data-id=window]') === null").asBoolean())
        .isTrue();
    tab.click(PAGE, "#send");
    phase("done");
    kept();
  }

  @Test
  void openedAloneItShowsAPreviewThatSaysSo() throws Exception {
    Path file = Files.writeString(folder.resolve("plans.html"), Displays.showPlans().page().html());
    tab.open(file.toUri());
    tab.until(HOST, "document.querySelectorAll('.card input').length === 3");
    assertThat(tab.run(HOST, "document.body.innerText").asText())
        .contains("Preview.", "opened alone", "$30");
    tab.screenshot(PICTURES.resolve("plans-alone.png"));

    tab.click(HOST, "#send");
    tab.until(
        HOST,
        "document.querySelector('code').textContent"
            + " === 'quote {\"action\":\"continue\",\"stateUpdates\":{\"selectedPlan\":\"gold\"}}'");
    assertThat(tab.requests()).containsOnlyOnce(file.toUri().toString());
    assertThat(tab.requests())
        .allMatch(
            url -> url.startsWith("file:") || apps.origins().stream().anyMatch(url::startsWith));
  }

  @Test
  void aClientThatIsLateReplacesThePreviewByItsData() {
    String html = Json.text(TextNode.valueOf(Displays.showPlans().page().html()));
    tab.run(
        HOST,
        "const late = document.createElement('iframe'); late.srcdoc = %s; document.body.append(late);"
            .formatted(html));
    String preview = "!document.getElementById('preview').hidden";
    tab.until(1, preview + " && document.body.innerText.includes('for your company')");

    tab.run(
        HOST,
        "late.contentWindow.postMessage({jsonrpc: '2.0', method: 'ui/notifications/tool-input',"
            + " params: {arguments: {price: 7}}}, '*');"
            + "late.contentWindow.postMessage({jsonrpc: '2.0', method: 'ui/notifications/tool-result',"
            + " params: {content: []}}, '*')");
    tab.until(1, "document.body.innerText.includes('$7')");
    assertThat(tab.run(1, preview).asBoolean()).isFalse();
    assertThat(tab.run(1, "document.body.innerText.includes('$30')").asBoolean()).isFalse();
  }

  @Test
  void whereThereIsTheBridgeOfChatGptThePageUsesIt() throws Exception {
    tab.before(
        """
        window.calls = [];
        window.openai = {
          theme: 'dark', locale: 'en-US', toolInput: { price: 40, segment: 'company', sessionId: 's1' }, toolOutput: null,
          callTool(name, args) {
            window.calls.push({ name, args });
            return Promise.resolve({ structuredContent: { status: 'complete', result: { name: 'Ann' } } });
          },
          setWidgetState(state) { window.kept = state; },
          notifyIntrinsicHeight(height) { window.height = height; },
        };
        """);
    Path file = Files.writeString(folder.resolve("gpt.html"), Displays.showPlans().page().html());
    tab.open(file.toUri());
    tab.until(HOST, "document.body.innerText.includes('$40')");
    assertThat(tab.run(HOST, "document.documentElement.style.colorScheme").asText())
        .isEqualTo("dark");
    assertThat(tab.run(HOST, "document.getElementById('preview').hidden").asBoolean()).isTrue();
    tab.until(HOST, "window.height > 100");

    tab.click(HOST, "#send");
    tab.until(HOST, NOTE + ".includes('Thank you, Ann')");
    assertThat(tab.run(HOST, "window.calls").toString())
        .isEqualTo(
            "[{\"name\":\"quote\",\"args\":{\"action\":\"continue\",\"stateUpdates\":"
                + "{\"selectedPlan\":\"gold\"},\"sessionId\":\"s1\"}}]");
    assertThat(tab.run(HOST, "window.kept.chosen").asText()).isEqualTo("gold");
  }

  @Test
  void aPageThatReachesOutIsStoppedByThePolicyItCameWith() {
    shown(QUOTE);
    kept();
    tab.run(PAGE, "fetch('http://127.0.0.1:9/').catch(() => 'stopped')");
    tab.run(PAGE, "void (new Image().src = 'http://127.0.0.1:9/pixel.png')");
    tab.whenForbidden();
    assertThat(tab.requests()).noneMatch(url -> url.startsWith("http://127.0.0.1:9/"));
  }
}
