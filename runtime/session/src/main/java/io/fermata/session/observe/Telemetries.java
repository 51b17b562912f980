package io.fermata.session.observe;

import io.fermata.agent.model.Usage;
import io.fermata.flow.event.ErrorCode;
import io.fermata.session.key.TraceContext;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
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
        LOG.warn("A telemetry threw; its exception is ignored", e);
      }
    }
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

  @Override
  public void changed(String flow, RunChange change, @Nullable ErrorCode code) {
    notify(each -> each.changed(flow, change, code));
  }

  @Override
  public void scheduled(String schedule, Start outcome) {
    notify(each -> each.scheduled(schedule, outcome));
  }

  @Override
  public void appended(int records, long nanos) {
    notify(each -> each.appended(records, nanos));
  }

  @Override
  public void woke(long nanos) {
    notify(each -> each.woke(nanos));
  }

  @Override
  public void unreadable(String code) {
    notify(each -> each.unreadable(code));
  }

  @Override
  public void requested(String method, String outcome, long nanos) {
    notify(each -> each.requested(method, outcome, nanos));
  }

  @Override
  public void refused(Refusal reason) {
    notify(each -> each.refused(reason));
  }

  @Override
  public void modelReplied(String agent, String model, Usage usage) {
    notify(each -> each.modelReplied(agent, model, usage));
  }

  @Override
  public void shardAcquired(long nanos) {
    notify(each -> each.shardAcquired(nanos));
  }

  @Override
  public void shardHandedOver(long nanos) {
    notify(each -> each.shardHandedOver(nanos));
  }

  @Override
  public void forwarded(long nanos) {
    notify(each -> each.forwarded(nanos));
  }

  @Override
  public void opened(Gauged gauges) {
    notify(each -> each.opened(gauges));
  }

  @Override
  public void closed(Gauged gauges) {
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
