package io.fermata.examples.flows;

import io.fermata.flow.schema.Describe;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.WidgetPage;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The display tools of the examples: the data of each, and the page that renders it. */
public final class Displays {
  /** What the plan picker shows. */
  public record Plans(
      @Describe("Price per month") BigDecimal price,
      @Describe("Whom the plans are for") QuoteFlow.Segment segment) {}

  /** What the table picker shows. */
  public record Tables(
      @Describe("Day of the visit") LocalDate date,
      @Describe("Time of arrival") String time,
      @Describe("Number of guests") Integer guests,
      @Describe("The free tables") List<TableFlow.Table> tables,
      @Nullable @Describe("A table that was chosen but is taken") String missed) {}

  private Displays() {}

  /** The plan picker of the quote. */
  public static DisplayTool showPlans() {
    return DisplayTool.of(
            "show_plans",
            "Plans",
            "Shows the plans with a price to choose from.",
            WidgetPage.resource(Displays.class, "show_plans.html"))
        .data(Plans.class);
  }

  /** The table picker of the booking. */
  public static DisplayTool chooseTable() {
    return DisplayTool.of(
            "choose_table",
            "Tables",
            "Shows the free tables to choose from.",
            WidgetPage.resource(Displays.class, "choose_table.html"))
        .data(Tables.class);
  }
}
