package io.fermata.flow;

import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.visits;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.action.StepException;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.record.RunPicture;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The picture of a flow as Mermaid text. */
class MermaidTest {
  @Test
  void everyNodeAndEveryWayIsDrawn() {
    assertThat(QuoteFlow.builder().compile().picture().mermaid())
        .isEqualTo(
            """
            flowchart TD
              n1(("Start"))
              n2[/"ask_contact<br>asks name, email"/]
              n3["classify"]
              n4[/"ask_company<br>asks companySize"/]
              n5["price"]
              n6[["show_plans<br>shows show_plans → selectedPlan"]]
              n7((("End")))
              n1 --> n2
              n2 --> n3
              n3 -->|"company<br>segment eq #34;company#34;"| n4
              n3 -->|"otherwise"| n5
              n4 --> n5
              n5 --> n6
              n6 --> n7
            """);
  }

  @Test
  void branchesPartAndJoinAndALateWaitGoesItsOwnWay() {
    assertThat(Pictured.trip().picture().mermaid())
        .contains(
            "{{\"at once\"}}",
            "{{\"all that match\"}}",
            "{{\"joins the first 2 · failures → failures\"}}",
            "{{\"joins all · fails fast\"}}",
            "|\"needs a visa<br>visa eq true\"|",
            "-.->|\"late, after 1 d\"| ",
            "\"payment<br>waits for paid → paid<br>reminds 3× every 1 h 30 min\"",
            "[\"book_flight<br>once · can be undone\"]",
            "([\"cool_down<br>sleeps 5 min\"])");
  }

  @Test
  void aFlowWithinAFlowIsABoxWithItsOwnGraph() {
    String drawn = Pictured.fleet().picture().mermaid();
    assertThat(drawn)
        .contains(
            "  subgraph n3[\"each · for each, at most 5 → checked · joins all · failures → failures\"]\n",
            "  subgraph n9[\"deep · flow outer\"]\n",
            "    subgraph n11[\"inner · flow check\"]\n");
    assertThat(drawn.lines().filter(line -> line.strip().equals("end"))).hasSize(3);
  }

  @Test
  void noNameAndNoLabelCanBreakThePicture() {
    Pattern shape = Pattern.compile("  n\\d+[\\[(]+\"[^\"`<>&|;]*\"[\\])]+");
    Pattern way = Pattern.compile("  n\\d+ --> ?(\\|\"([^\"`<>&|;]|#\\d+;|<br>)*\"\\|)? ?n\\d+");
    assertThat(Pictured.wild().picture().mermaid().lines().skip(1))
        .allMatch(line -> shape.matcher(line).matches() || way.matcher(line).matches());
  }

  @Test
  void aRunShowsWhereItWentAndWhereItIs() {
    Flow<?> flow = QuoteFlow.builder().compile();
    Driver run = new Driver(flow);
    run.start("name", "Ann", "email", "ann@acme.com");
    assertThat(RunPicture.of(flow, run.journal).mermaid())
        .contains(
            "n4[/\"ask_company<br>asks companySize<br>waits#58; How big is your company?\"/]",
            "  linkStyle 0,1,2 stroke:",
            "  class n1,n2,n3 visited\n",
            "  class n4 waits\n");
  }

  @Test
  void aMigratedRunIsDrawnUnderTheNewNames() {
    Driver before = new Driver(listed(talk(), "a", "b", "sub", "each"));
    before.start("list", List.of("x", "y"));
    Flow<?> flow =
        listed(
            talk()
                .version(2)
                .migrate(
                    1,
                    m -> m.node("a", "b").node("b", "c").node("sub", "part").node("each", "all")),
            "b",
            "c",
            "part",
            "all");
    Driver run = new Driver(flow);
    run.takeOver(before);
    run.proceed("all.0.a", "z");

    Picture drawn = RunPicture.of(flow, run.journal);
    assertThat(List.of("b", "c", "part", "part/note", "all", "all/ask_a"))
        .extracting(path -> mark(drawn, path).visits())
        .containsExactly(2, 1, 1, 1, 1, 2);
    assertThat(mark(drawn, "all").notes()).contains("2 items: 1 done, 1 open");
    assertThat(way(drawn, "b", "b").seen()).containsExactly("✗ visits of a = 2");
    assertThat(List.of(way(drawn, "b", "b"), way(drawn, "b", "c"), way(drawn, "c", "part")))
        .extracting(Picture.Arrow::taken)
        .containsExactly(1, 1, 1);
  }

  /** Takes one step twice and another once, and asks about each item of a list. */
  private static Flow<?> listed(
      FlowBuilder<Flows.Talk> flow, String twice, String once, String mount, String list) {
    Flow<Flows.Talk> note =
        Flows.chain(talk().act("note", run -> run.set("computed", "x")), "note").compile();
    Flow<Flows.Talk> asking = Flows.chain(ask(talk(), "a"), "ask_a").compile();
    return flow.act(twice, run -> {})
        .act(once, run -> {})
        .subflow(mount, note, m -> {})
        .<Flows.Talk, String>forEach(list, asking, e -> e.items(Flows.Talk::list).atMost(2))
        .edge(Flow.START, twice)
        .decide(twice, d -> d.when(visits(twice).lt(2)).to(twice).otherwise(once))
        .edge(once, mount)
        .edge(mount, list)
        .edge(list, Flow.END)
        .compile();
  }

  private static Picture.Mark mark(Picture picture, String path) {
    return picture.shapes().stream()
        .filter(shape -> shape.path().equals(path))
        .findFirst()
        .orElseThrow()
        .mark();
  }

  private static Picture.Arrow way(Picture picture, String from, String to) {
    return picture.arrows().stream()
        .filter(arrow -> arrow.from().equals(from) && arrow.to().equals(to))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void theBranchesOfAMigratedRunAreDrawnUnderTheNewNames() {
    Driver before = new Driver(parted(talk(), "left", "right"));
    before.start();
    Flow<?> flow =
        parted(
            talk().version(2).migrate(1, m -> m.node("left", "west").node("right", "east")),
            "west",
            "east");
    Driver run = new Driver(flow);
    run.takeOver(before);

    Picture drawn = RunPicture.of(flow, run.journal);
    assertThat(mark(drawn, "west").dropped()).isFalse();
    assertThat(mark(drawn, "east").dropped()).isTrue();
    assertThat(mark(drawn, "east").visits()).isEqualTo(1);
    assertThat(way(drawn, "begin>", "west").taken()).isEqualTo(1);
    assertThat(way(drawn, "begin>", "east").taken()).isEqualTo(1);
  }

  @Test
  void theWaysOfBranchesThatJoinedBeforeAMigrationAreDrawnUnderTheNewNames() {
    Driver before = new Driver(chosen(talk(), "begin", "left"));
    before.start();
    Flow<?> flow =
        chosen(
            talk().version(2).migrate(1, m -> m.node("begin", "first").node("left", "west")),
            "first",
            "west");
    Driver run = new Driver(flow);
    run.takeOver(before);

    Picture drawn = RunPicture.of(flow, run.journal);
    assertThat(
            List.of(
                way(drawn, "first", "first>"),
                way(drawn, "first>", "west"),
                way(drawn, "first>", "right"),
                way(drawn, "first<", "ask_a")))
        .extracting(Picture.Arrow::taken)
        .containsExactly(1, 1, 0, 1);
  }

  /** Takes the first branch and not the second. */
  private static Flow<?> chosen(FlowBuilder<Flows.Talk> flow, String begin, String head) {
    return ask(flow, "a")
        .act(begin, run -> {})
        .act(head, run -> {})
        .act("right", run -> {})
        .edge(Flow.START, begin)
        .select(
            begin,
            s ->
                s.when("now", visits(begin).lt(2))
                    .to(head)
                    .when("later", visits(begin).lt(1))
                    .to("right")
                    .join("ask_a"))
        .edge(head, "ask_a")
        .edge("right", "ask_a")
        .edge("ask_a", Flow.END)
        .compile();
  }

  /** Asks in one branch and fails in the other. */
  private static Flow<?> parted(FlowBuilder<Flows.Talk> flow, String asks, String fails) {
    return flow.act("begin", run -> {})
        .ask(asks, q -> q.question("a", "a?"))
        .act(
            fails,
            run -> {
              throw new StepException("No.");
            })
        .edge(Flow.START, "begin")
        .fork("begin", f -> f.branch(asks).branch(fails).join(Flow.END).collect("failures"))
        .edge(asks, Flow.END)
        .edge(fails, Flow.END)
        .compile();
  }
}
