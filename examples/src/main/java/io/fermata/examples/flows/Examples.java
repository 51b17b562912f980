package io.fermata.examples.flows;

import io.fermata.cli.Application;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;

/** All examples in one application, with the restaurant and the travel agency that they call. */
public final class Examples implements Application {
  @Mixin private final DeskOptions desk;
  private final TravelAgency agency = new TravelAgency();
  private @Nullable Restaurant restaurant;

  public Examples() {
    this(new DeskOptions());
  }

  Examples(DeskOptions desk) {
    this.desk = desk;
  }

  @Override
  public void addTo(HostBuilder host) {
    Restaurant opened = Restaurant.open();
    restaurant = opened;
    desk.desk()
        .openedAt(host)
        .flow(QuoteFlow.create())
        .flow(TableFlow.create(new RestaurantClient(opened.uri())))
        .flow(TripFlow.create(agency))
        .display(Displays.showPlans())
        .display(Displays.chooseTable());
  }

  @Override
  public void started(Fermata host) {
    agency.whenPaid((run, receipt) -> host.signal("trip", run, "payment", receipt, "payment"));
  }

  @Override
  public void close() {
    if (restaurant != null) {
      restaurant.close();
    }
  }
}
