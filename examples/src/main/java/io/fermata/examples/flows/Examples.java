package io.fermata.examples.flows;

import io.fermata.flow.Flow;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;

/** All examples in one host, with the restaurant and the travel agency that they call. */
public final class Examples implements AutoCloseable {
  private final Restaurant restaurant;
  private final Fermata host;

  private Examples(Restaurant restaurant, Fermata host) {
    this.restaurant = restaurant;
    this.host = host;
  }

  /** Starts with a scripted model at the desk. */
  static Examples start(Store store) {
    return start(store, DeskOptions.scripted());
  }

  public static Examples start(Store store, SupportDesk desk) {
    return start(store, desk, host -> host);
  }

  public static Examples start(Store store, SupportDesk desk, UnaryOperator<HostBuilder> more) {
    return open(desk.openedAt(more.apply(Fermata.host().store(store))));
  }

  /** Opens without continuing any work of the store. */
  public static Examples dormant(Store store) {
    return open(DeskOptions.scripted().openedAt(Fermata.host().store(store)).dormant());
  }

  private static Examples open(HostBuilder builder) {
    Restaurant restaurant = Restaurant.open();
    try {
      return new Examples(restaurant, host(builder, restaurant, new TravelAgency()));
    } catch (RuntimeException e) {
      restaurant.close();
      throw e;
    }
  }

  private static Fermata host(HostBuilder builder, Restaurant restaurant, TravelAgency agency) {
    flows(restaurant, agency).forEach(builder::flow);
    Fermata host = builder.display(Displays.showPlans()).display(Displays.chooseTable()).start();
    agency.whenPaid(
        (run, receipt) -> host.signal("trip", run, "payment", receipt, "payment " + run));
    return host;
  }

  public static List<Flow<?>> flows(Restaurant restaurant, TravelAgency agency) {
    return List.of(
        QuoteFlow.create(),
        TableFlow.create(new RestaurantClient(restaurant.uri())),
        TripFlow.create(agency));
  }

  public Fermata host() {
    return host;
  }

  @Override
  public void close() {
    host.close();
    restaurant.close();
  }

  /** Closes; running work has this long to complete. */
  public void close(Duration timeout) {
    host.close(timeout);
    restaurant.close();
  }
}
