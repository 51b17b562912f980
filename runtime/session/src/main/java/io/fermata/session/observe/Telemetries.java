package io.fermata.session.observe;

import io.fermata.flow.logging.LoggedFailure;
import io.fermata.session.key.TraceContext;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Notifies several telemetries, and isolates the host from what they throw. */
public final class Telemetries implements Telemetry {
  private static final Logger LOG = LoggerFactory.getLogger(Telemetries.class);

  private final List<Telemetry> all;

  private Telemetries(List<Telemetry> all) {
    this.all = all;
  }

  /** Combines telemetries; none costs nothing. */
  public static Telemetry of(List<Telemetry> all) {
    List<Telemetry> active = all.stream().filter(each -> each != NONE).toList();
    return active.isEmpty() ? NONE : new Telemetries(active);
  }

  private void notify(Consumer<Telemetry> what) {
    each(all, what);
  }

  private static <T> void each(List<T> all, Consumer<T> what) {
    for (T each : all) {
      try {
        what.accept(each);
      } catch (Throwable e) {
        threw(e);
      }
    }
  }

  private static void threw(Throwable e) {
    LOG.warn("A telemetry threw; its exception is ignored", LoggedFailure.of(e));
  }

  private Activity begin(Function<Telemetry, Activity> begin) {
    List<Activity> begun = new ArrayList<>(all.size());
    notify(
        each -> {
          Activity activity = begin.apply(each);
          if (activity != null && activity != Activity.NONE) {
            begun.add(activity);
          }
        });
    return begun.isEmpty() ? Activity.NONE : new Several(begun);
  }

  @Override
  public Activity called(Call call) {
    return begin(each -> each.called(call));
  }

  @Override
  public Activity performing(Effect effect) {
    return begin(each -> each.performing(effect));
  }

  /** Without an object for each, as what is timed may be short. */
  @Override
  public void measured(Meter meter, double value, List<String> tags) {
    for (Telemetry each : all) {
      try {
        each.measured(meter, value, tags);
      } catch (Throwable e) {
        threw(e);
      }
    }
  }

  @Override
  public void opened(List<Gauge> gauges) {
    notify(each -> each.opened(gauges));
  }

  @Override
  public void closed(List<Gauge> gauges) {
    notify(each -> each.closed(gauges));
  }

  private static final class Several implements Activity {
    private final List<Activity> all;
    private final AtomicBoolean ended = new AtomicBoolean();

    Several(List<Activity> all) {
      this.all = all;
    }

    @Override
    public TraceContext context() {
      List<TraceContext> known = new ArrayList<>(1);
      each(
          all,
          activity -> {
            TraceContext context = known.isEmpty() ? activity.context() : TraceContext.NONE;
            if (!context.equals(TraceContext.NONE)) {
              known.add(context);
            }
          });
      return known.isEmpty() ? TraceContext.NONE : known.get(0);
    }

    @Override
    public Entered enter() {
      List<Entered> entered = new ArrayList<>(all.size());
      each(all, activity -> entered.add(0, activity.enter()));
      return () -> each(entered, Entered::close);
    }

    /** A cancelled activity may still end by itself, which is ignored. */
    @Override
    public void end(End end) {
      if (ended.compareAndSet(false, true)) {
        each(all, activity -> activity.end(end));
      }
    }
  }
}
