package io.fermata.flow;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** The picture of a flow, and of a run on it, as an image. */
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

  private static String told(Element element) {
    NodeList texts = element.getElementsByTagName("text");
    StringBuilder told = new StringBuilder();
    for (int i = 0; i < texts.getLength(); i++) {
      told.append(told.isEmpty() ? "" : " ").append(texts.item(i).getTextContent());
    }
    return told.toString();
  }

  // --- a flow ---------------------------------------------------------------------------------

  @Test
  void everyNodeAndEveryWayOfEveryFlowIsDrawn() {
    Pictured.all()
        .forEach(
            (name, flow) -> {
              Document drawn = parsed(flow.svg());
              Drawing drawing = Outline.of(flow);
              assertThat(groups(drawn, "node"))
                  .as(name)
                  .extracting(node -> node.getAttribute("data-node"))
                  .containsExactlyElementsOf(
                      drawing.shapes().stream().map(Drawing.Shape::path).toList());
              assertThat(groups(drawn, "edge"))
                  .as(name)
                  .extracting(edge -> edge.getAttribute("data-from") + edge.getAttribute("data-to"))
                  .containsExactlyInAnyOrderElementsOf(
                      drawing.arrows().stream().map(a -> a.from() + a.to()).toList());
            });
  }

  @Test
  void thoseWhoCannotSeeItAreToldWhatItIs() {
    Document drawn = parsed(Pictured.fleet().svg());
    assertThat(drawn.getDocumentElement().getAttribute("role")).isEqualTo("img");
    assertThat(drawn.getElementsByTagName("title").item(0).getTextContent())
        .isEqualTo("Fleet & <drivers>");
  }

  @Test
  void aLongTextIsBrokenAndAllOfItIsThere() {
    Document drawn = parsed(Pictured.wild().svg());
    assertThat(told(edge(drawn, "graph", "class")).replace(" ", ""))
        .isEqualTo(Pictured.WILD.replaceAll("\\s", ""));
  }

  // --- a run ----------------------------------------------------------------------------------

  private static Document drawn(Flow<?> flow, List<Event> journal) {
    return parsed(Picture.of(flow).run(journal).svg());
  }

  @Test
  void aRunShowsWhereItWentWhereItWaitsAndWhatItDecidedOn() {
    Flow<?> flow = Pictured.trip();
    Driver run = new Driver(flow);
    run.start("who", "Ann", "guests", 3, "visa", false, "travel", "car", "flight", "LH1");
    Document drawn = drawn(flow, run.journal);
    assertThat(classes(node(drawn, "book_flight"))).contains("visited");
    assertThat(classes(node(drawn, "ask_hotel"))).as("not waited for").contains("dropped");
    assertThat(classes(node(drawn, "payment"))).contains("dropped").doesNotContain("visited");
    assertThat(classes(edge(drawn, "ask_who<", "triage"))).contains("taken");
    assertThat(told(edge(drawn, "triage>", "ask_passport"))).contains("✗ visa = false");
    assertThat(classes(edge(drawn, "triage>", "ask_passport"))).doesNotContain("taken");
    assertThat(told(edge(drawn, "triage>", "ask_licence")))
        .contains("✓ travel = \"car\"", "✓ guests = 3");
    assertThat(classes(edge(drawn, "triage>", "ask_licence"))).contains("taken");
    assertThat(classes(node(drawn, "ask_licence"))).contains("waits", "visited");
    assertThat(told(node(drawn, "ask_licence"))).contains("waits for answers");
  }

  @Test
  void itemsAreCountedAndFailuresNamed() {
    Flow<?> flow = Pictured.fleet();
    Driver run = new Driver(flow);
    run.start("drivers", List.of("a", "b", "c"));
    run.proceed("each.0.name", "zed", "each.1.name", "boom", "each.2.name", "Bo");
    Document drawn = drawn(flow, run.journal);
    assertThat(told(node(drawn, "each"))).contains("3 items: 1 done, 1 failed, 1 open");
    assertThat(told(node(drawn, "each/verify"))).contains("verify ×3", "failed: step_failed");
    assertThat(classes(node(drawn, "each/ask_alias"))).contains("waits");
    assertThat(told(edge(drawn, "each/ask_name", "each/verify"))).isEqualTo("×3");
  }

  @Test
  void aHaltedNodeSaysWhy() {
    Flow<?> flow = Pictured.fleet();
    Driver run = new Driver(flow);
    run.start("drivers", List.of());
    run.proceed("deep.inner.name", "boom");
    Document drawn = drawn(flow, run.journal);
    assertThat(classes(node(drawn, "deep/inner/verify"))).contains("halted");
    assertThat(told(node(drawn, "deep/inner/verify")))
        .contains("halted: step_failed – The register is closed.");
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
    run.proceed();
    Document drawn = drawn(flow, run.journal);
    assertThat(told(edge(drawn, "confirm", "ask_who"))).contains("✓ guests = 0");
    assertThat(told(node(drawn, "ask_who"))).contains("ask_who ×2");
  }

  @Test
  void whateverAJournalSaysThereIsAPicture() {
    Flow<?> other = QuoteFlow.builder().compile();
    for (int seed = 0; seed < 60; seed++) {
      Flow<?> flow = Pictured.random(seed);
      Driver run = new Driver(flow);
      run.start("a", "x");
      run.proceed("a", "y", "b", "bad", "part.c", "z", "number", 2, "flag", true);
      run.proceed("b", "better");
      run.reset("a", "w");
      for (int events = 0; events <= run.journal.size(); events += 1 + events / 5) {
        List<Event> journal = run.journal.subList(0, events);
        List<Function<Picture, String>> forms = List.of(Picture::svg, Picture::mermaid);
        forms.forEach(form -> assertThat(form.apply(Picture.of(flow).run(journal))).isNotEmpty());
        parsed(Picture.of(other).run(journal).svg());
      }
    }
  }
}
