package io.fermata.flow;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.record.RunPicture;
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
}
