package io.fermata.flow;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.record.Redaction;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.record.RunPicture;
import io.fermata.flow.route.Route;
import java.io.StringReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** The picture of a flow, and of a run on it, as an image. */
@Tag("slow")
class SvgTest {
  private static Document parsed(String svg) {
    try {
      return DocumentBuilderFactory.newInstance()
          .newDocumentBuilder()
          .parse(new InputSource(new StringReader(svg)));
    } catch (Exception e) {
      throw new AssertionError("This is no XML: " + e.getMessage() + "\n" + svg, e);
    }
  }

  private static List<Element> groups(Document document, String kind) {
    List<Element> groups = new ArrayList<>();
    NodeList all = document.getElementsByTagName("g");
    for (int i = 0; i < all.getLength(); i++) {
      Element group = (Element) all.item(i);
      if (classes(group).contains(kind)) {
        groups.add(group);
      }
    }
    return groups;
  }

  private static List<String> classes(Element element) {
    return List.of(element.getAttribute("class").split(" "));
  }

  private static Element node(Document document, String path) {
    return groups(document, "node").stream()
        .filter(node -> node.getAttribute("data-node").equals(path))
        .findFirst()
        .orElseThrow(() -> new AssertionError("There is no node " + path));
  }

  private static Element edge(Document document, String from, String to) {
    return groups(document, "edge").stream()
        .filter(edge -> edge.getAttribute("data-from").equals(from))
        .filter(edge -> edge.getAttribute("data-to").equals(to))
        .findFirst()
        .orElseThrow(() -> new AssertionError("There is no way from " + from + " to " + to));
  }

  private static String wording(Element element) {
    NodeList texts = element.getElementsByTagName("text");
    StringBuilder wording = new StringBuilder();
    for (int i = 0; i < texts.getLength(); i++) {
      wording.append(wording.isEmpty() ? "" : " ").append(texts.item(i).getTextContent());
    }
    return wording.toString();
  }

  private static String title(Element element) {
    return element.getElementsByTagName("title").item(0).getTextContent();
  }

  // --- a flow ---------------------------------------------------------------------------------

  @Test
  void everyNodeAndEveryWayOfEveryFlowIsDrawnOnce() {
    Pictured.all()
        .forEach(
            (name, flow) -> {
              Document drawn = parsed(flow.picture().svg());
              List<String> nodes = new ArrayList<>();
              List<String> ways = new ArrayList<>();
              declared(flow, "", nodes, ways);
              assertThat(groups(drawn, "node"))
                  .as(name)
                  .extracting(node -> node.getAttribute("data-node"))
                  .containsExactlyInAnyOrderElementsOf(nodes);
              assertThat(groups(drawn, "edge"))
                  .as(name)
                  .extracting(
                      edge -> edge.getAttribute("data-from") + " " + edge.getAttribute("data-to"))
                  .containsExactlyInAnyOrderElementsOf(ways);
            });
  }

  /** What the author declared, with a part and a join for every fork. */
  private static void declared(Flow<?> flow, String box, List<String> nodes, List<String> ways) {
    nodes.add(box + Flow.START);
    nodes.add(box + Flow.END);
    flow.nodes()
        .forEach(
            (id, node) -> {
              nodes.add(box + id);
              if (node instanceof Node.Nested<?> nested) {
                declared(nested.flow(), box + id + "/", nodes, ways);
              }
              String late = flow.waiting(id).target();
              if (late != null) {
                ways.add(way(flow, box, id, late));
              }
            });
    flow.routes()
        .forEach(
            (from, route) -> {
              if (route instanceof Route.Fork fork) {
                nodes.add(box + from + ">");
                nodes.add(box + from + "<");
                ways.add(box + from + " " + box + from + ">");
                fork.arms().forEach(arm -> ways.add(box + from + "> " + box + arm.head()));
                if (fork.otherwise() != null) {
                  ways.add(box + from + "> " + box + fork.otherwise());
                } else if (fork.arms().stream().allMatch(arm -> arm.rule() != null)) {
                  ways.add(box + from + "> " + box + from + "<");
                }
                ways.add(way(flow, box, from, fork.join()).replaceFirst(" ", "< "));
              } else if (route instanceof Route.Choice choice) {
                choice.rules().forEach(rule -> ways.add(way(flow, box, from, rule.target())));
                ways.add(way(flow, box, from, choice.otherwise()));
              } else if (route != null) {
                ways.add(way(flow, box, from, route.targets().get(0)));
              }
            });
  }

  /** A way out of a branch leads to where the branches of its fork come together. */
  private static String way(Flow<?> flow, String box, String from, String to) {
    String join =
        new Graph.Regions(flow)
            .sides().getOrDefault(from, Map.of()).keySet().stream()
                .limit(1)
                .filter(
                    fork -> flow.routes().get(fork) instanceof Route.Fork f && f.join().equals(to))
                .map(fork -> fork + "<")
                .findFirst()
                .orElse(to);
    return box + from + " " + box + join;
  }

  @Test
  void anImageNeedsNothingElse() {
    Pictured.all()
        .forEach(
            (name, flow) ->
                assertThat(flow.picture().svg().replace("http://www.w3.org/2000/svg", ""))
                    .as(name)
                    .doesNotContain("<script", "href", "url(", "@import", "http:", "https:"));
  }

  @Test
  void theSameFlowIsAlwaysDrawnTheSame() {
    for (int seed = 0; seed < 10; seed++) {
      Picture picture = Pictured.random(seed).picture();
      Picture again = Pictured.random(seed).picture();
      assertThat(again.svg()).isEqualTo(picture.svg());
      assertThat(again.mermaid()).isEqualTo(picture.mermaid());
    }
  }

  @Test
  void aDescriptionSaysWhatItIsToThoseWhoCannotSeeIt() {
    Document drawn = parsed(Pictured.fleet().picture().svg());
    assertThat(drawn.getDocumentElement().getAttribute("role")).isEqualTo("img");
    assertThat(drawn.getElementsByTagName("title").item(0).getTextContent())
        .isEqualTo("Fleet & <drivers>");
  }

  @Test
  void aLongTextIsBrokenAndAllOfItIsThere() {
    Document drawn = parsed(Pictured.wild().picture().svg());
    assertThat(wording(edge(drawn, "graph", "class")).replace(" ", ""))
        .isEqualTo(Pictured.WILD.replaceAll("\\s", ""));
  }

  // --- a run ----------------------------------------------------------------------------------

  private static Document drawn(Flow<?> flow, List<Event> journal) {
    return parsed(RunPicture.of(flow, journal).svg());
  }

  @Test
  void aRunShowsWhereItWentWhereItWaitsAndWhatItDecidedOn() {
    Flow<?> flow = Pictured.trip();
    Driver run = new Driver(flow);
    run.start("who", "Ann", "guests", 3, "visa", false, "travel", "car", "flight", "LH1");
    run.pass();
    Document drawn = drawn(flow, run.journal);
    assertThat(classes(node(drawn, "book_flight"))).contains("visited");
    assertThat(classes(node(drawn, "ask_hotel"))).as("not waited for").contains("dropped");
    assertThat(classes(node(drawn, "payment"))).contains("dropped").doesNotContain("visited");
    assertThat(classes(edge(drawn, "ask_who<", "triage"))).contains("taken");
    assertThat(wording(edge(drawn, "triage>", "ask_passport"))).contains("✗ visa = false");
    assertThat(classes(edge(drawn, "triage>", "ask_passport"))).doesNotContain("taken");
    assertThat(wording(edge(drawn, "triage>", "ask_licence")))
        .contains("✓ travel = \"car\"", "✓ guests = 3");
    assertThat(classes(edge(drawn, "triage>", "ask_licence"))).contains("taken");
    assertThat(classes(node(drawn, "ask_licence"))).contains("waits", "visited");
    assertThat(wording(node(drawn, "ask_licence"))).contains("waits: Number?");
    assertThat(title(edge(drawn, "triage>", "ask_licence"))).endsWith("taken once");
  }

  @Test
  void itemsAreCountedAndFailuresNamed() {
    Flow<?> flow = Pictured.fleet();
    Driver run = new Driver(flow);
    run.start("drivers", List.of("a", "b", "c"));
    run.proceed("each.0.name", "zed", "each.1.name", "boom", "each.2.name", "Bo");
    Document drawn = drawn(flow, run.journal);
    assertThat(wording(node(drawn, "each"))).contains("3 items: 1 done, 1 failed, 1 open");
    assertThat(wording(node(drawn, "each/verify"))).contains("verify ×3", "failed: step_failed");
    assertThat(classes(node(drawn, "each/ask_alias"))).contains("waits");
    assertThat(wording(edge(drawn, "each/ask_name", "each/verify"))).isEqualTo("×3");
    assertThat(classes(edge(drawn, "each", "deep"))).as("an item is open").doesNotContain("taken");
  }

  @Test
  void aHaltedNodeSaysWhy() {
    Flow<?> flow = Pictured.fleet();
    Driver run = new Driver(flow);
    run.start("drivers", List.of());
    run.proceed("deep.inner.name", "boom");
    Document drawn = drawn(flow, run.journal);
    assertThat(classes(node(drawn, "deep/inner/verify"))).contains("halted");
    assertThat(wording(node(drawn, "deep/inner/verify")))
        .contains("halted: step_failed – The register is closed.");
    assertThat(wording(node(drawn, "deep"))).isEqualTo("deep flow outer");
  }

  @Test
  void aFinishedRunShowsHowOftenAStepWasRetried() {
    Flow<?> flow =
        Flow.of("pay", Pictured.Person.class)
            .description("Pays.")
            .act(
                "pay",
                run -> {
                  if (run.attempt() < 3) {
                    throw new IllegalStateException("The register is closed.");
                  }
                },
                o -> o.retry(3, Duration.ofSeconds(10)))
            .edge(Flow.START, "pay")
            .edge("pay", Flow.END)
            .compile();
    Driver run = new Driver(flow);
    run.start();
    assertThat(wording(node(drawn(flow, run.journal), "pay"))).endsWith("retried (2×)");
  }

  @Test
  void aRunIsNotMixedWithTheOneBeforeIt() {
    Flow<?> flow = Pictured.trip();
    Driver run = new Driver(flow);
    run.start("who", "Ann", "guests", 2, "flight", "LH1");
    run.start("who", "Bo");
    Document drawn = drawn(flow, run.journal);
    assertThat(wording(node(drawn, "ask_who"))).endsWith("waits: How many?");
    assertThat(classes(node(drawn, "book_flight"))).doesNotContain("visited");
  }

  @Test
  void aCorrectionIsAnotherVisit() {
    Flow<?> flow = Pictured.trip();
    Driver run = new Driver(flow);
    run.start("who", "Ann", "guests", 2);
    run.reset("who", "Bo");
    Document drawn = drawn(flow, run.journal);
    assertThat(wording(node(drawn, "ask_who"))).contains("ask_who ×2");
    assertThat(wording(node(drawn, "ask_hotel"))).endsWith("waits: Which?");
  }

  @Test
  void anEarlyEndIsAWayOfItsOwn() {
    Flow<?> flow = Pictured.fleet();
    Driver run = new Driver(flow);
    run.start("drivers", List.of(), "deep", Driver.object("inner", Driver.object("name", "Bo")));
    Document drawn = drawn(flow, run.journal);
    assertThat(classes(edge(drawn, "stop", Flow.END))).contains("early", "taken");
    assertThat(classes(node(drawn, "never"))).doesNotContain("visited");
    assertThat(drawn.getElementsByTagName("desc").item(0).getTextContent())
        .isEqualTo("fleet · version 1 · completed: enough");
  }

  @Test
  void aLoopIsCounted() {
    Flow<?> flow = Pictured.trip();
    Driver run = new Driver(flow);
    run.start("who", "Ann", "guests", 0, "flight", "LH1");
    run.pass();
    run.proceed();
    run.proceed();
    Document drawn = drawn(flow, run.journal);
    assertThat(wording(edge(drawn, "confirm", "ask_who"))).contains("✓ guests = 0");
    assertThat(wording(node(drawn, "ask_who"))).contains("ask_who ×2");
  }

  @Test
  void theTimesThatAreKnownAreShown() {
    Document drawn = parsed(Pictured.trip().picture().svg());
    assertThat(wording(node(drawn, "cool_down"))).contains("sleeps 5 min");
    assertThat(wording(edge(drawn, "payment", "give_up"))).isEqualTo("late, after 1 d");
    assertThat(classes(edge(drawn, "payment", "give_up"))).contains("late");
  }

  @Test
  void whatWasUndoneIsMarked() {
    Flow<?> flow = Pictured.trip();
    Driver run = new Driver(flow);
    run.start("who", "Ann", "guests", 2, "flight", "LH1");
    run.cancel();
    Document drawn = drawn(flow, run.journal);
    assertThat(classes(node(drawn, "book_flight"))).contains("undone");
    assertThat(wording(node(drawn, "book_flight"))).endsWith("undone");
    assertThat(wording(node(drawn, "ask_hotel"))).endsWith("left here");
    assertThat(drawn.getElementsByTagName("desc").item(0).getTextContent()).endsWith("cancelled");
  }

  @Test
  void whatSomebodyTookAsUndoneWorksNoMore() {
    Flow<?> flow =
        Flow.of("pay", Pictured.Person.class)
            .description("Pays.")
            .ask("ask_who", q -> q.question("name", "Who?"))
            .act("pay", run -> {})
            .compensate(
                "pay",
                run -> {
                  throw new StepException("The register is closed.");
                })
            .ask("ask_alias", q -> q.question("alias", "Alias?"))
            .edge(Flow.START, "ask_who")
            .edge("ask_who", "pay")
            .edge("pay", "ask_alias")
            .edge("ask_alias", Flow.END)
            .compile();
    Driver run = new Driver(flow);
    run.start("name", "Ann");
    run.cancel();
    run.resolve(Input.Resolution.SKIP);
    Document drawn = drawn(flow, run.journal);
    assertThat(wording(node(drawn, "pay"))).isEqualTo("pay can be undone undone");
    assertThat(classes(node(drawn, "pay"))).contains("undone").doesNotContain("works");
  }

  @Test
  void whatIsKeptFromRecordersIsKeptFromPictures() {
    Flow<?> flow = Pictured.trip();
    Driver run = new Driver(flow);
    run.start("who", "Ann", "guests", 3, "visa", true, "travel", "car", "flight", "LH1");
    run.pass();
    RunPicture drawn = new RunPicture(flow);
    RunObserver.of(flow, "", Redaction.of("travel").over(drawn)).record(1, 0, run.journal);
    Picture picture = drawn.picture();
    assertThat(wording(edge(parsed(picture.svg()), "triage>", "ask_licence")))
        .contains("travel = \"[redacted]\"", "guests = 3")
        .doesNotContain("✓ travel = \"car\"");
    assertThat(picture.mermaid()).doesNotContain("travel = #34;car#34;");
  }

  @Test
  void whateverAJournalSaysThereIsAPicture() {
    Flow<?> other = QuoteFlow.builder().compile();
    for (int seed = 0; seed < 10; seed++) {
      Flow<?> flow = Pictured.random(seed);
      Driver run = new Driver(flow);
      run.start("who", "Ann", "guests", 2, "drivers", List.of("a", "b"));
      run.proceed("hotel", "y", "passport", "1");
      run.signal("signal-n1", "paid");
      if (run.state.running() && !run.timers().isEmpty()) {
        run.pass();
      }
      run.reset("who", "Bo");
      run.cancel();
      for (int events = 0; events <= run.journal.size(); events += 1 + events / 5) {
        List<Event> journal = run.journal.subList(0, events);
        parsed(RunPicture.of(flow, journal).svg());
        parsed(RunPicture.of(other, journal).svg());
        assertThat(RunPicture.of(flow, journal).mermaid()).startsWith("flowchart TD\n");
      }
    }
  }
}
