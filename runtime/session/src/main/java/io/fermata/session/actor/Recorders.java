package io.fermata.session.actor;

import io.fermata.agent.FlowTool;
import io.fermata.flow.Flow;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.json.Texts;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.ObservedEntry;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.record.Redaction;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.observe.Delivery;
import java.util.ArrayList;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The recorders of a host, of its tools and of its flows. Each is notified on its own thread, so
 * that none delays a session or another recorder.
 */
public final class Recorders {
  private static final Logger LOG = LoggerFactory.getLogger(Recorders.class);

  private final IdentityHashMap<Flow<?>, List<AttachedRecorder>> listeners =
      new IdentityHashMap<>();
  private final IdentityHashMap<Recorder, Delivery> deliveries = new IdentityHashMap<>();
  private final AtomicLong failures = new AtomicLong();

  private final IdentityHashMap<Recorder, AttachedRecorder> redacted = new IdentityHashMap<>();
  private final @Nullable Redaction redaction;

  /**
   * @param ofHost receive everything but secrets
   * @param trusted receive everything, even if they are attached elsewhere, too
   */
  public Recorders(
      Collection<Recorder> ofHost, Collection<Recorder> trusted, FlowCatalog catalog, int bound) {
    this.redaction = redaction(catalog);
    trusted.forEach(recorder -> redacted.put(recorder, AttachedRecorder.everywhere(recorder)));
    for (FlowProgram<?> program : catalog.programs()) {
      Flow<?> flow = program.flow();
      FlowTool tool = catalog.tool(flow);
      List<AttachedRecorder> all = new ArrayList<>(flow.recorders());
      ofHost.forEach(recorder -> all.add(AttachedRecorder.everywhere(recorder)));
      trusted.forEach(recorder -> all.add(AttachedRecorder.everywhere(recorder)));
      if (tool != null) {
        tool.recorders().forEach(recorder -> all.add(AttachedRecorder.everywhere(recorder)));
      }
      List<AttachedRecorder> once = new ArrayList<>();
      for (AttachedRecorder one : AttachedRecorder.once(all)) {
        Recorder observer =
            redacted.computeIfAbsent(one.recorder(), this::withoutSecrets).recorder();
        once.add(new AttachedRecorder(observer, one.mounts()));
        deliveries.computeIfAbsent(
            observer, r -> new Delivery(r, one.recorder().getClass().getName(), bound));
      }
      listeners.put(flow, List.copyOf(once));
    }
  }

  private static @Nullable Redaction redaction(FlowCatalog catalog) {
    return catalog.secretFields().isEmpty() ? null : Redaction.ofSecrets(catalog.flows());
  }

  /** A recorder that receives the host's runs without their secrets. */
  public AttachedRecorder withoutSecrets(Recorder recorder) {
    return AttachedRecorder.everywhere(redaction == null ? recorder : redaction.over(recorder));
  }

  /** Whether there are no recorders. */
  public boolean isEmpty() {
    return deliveries.isEmpty();
  }

  /** The recorders of a flow's runs. */
  public List<AttachedRecorder> of(Flow<?> flow) {
    return listeners.getOrDefault(flow, List.of());
  }

  /** Publishes the observations of a journal entry. */
  public void publish(String session, List<AttachedRecorder> listeners, ObservedEntry entry) {
    for (AttachedRecorder listener : listeners) {
      delivery(listener).later(session, () -> deliver(session, listeners, listener, entry));
    }
  }

  /** Drops pending notifications about some sessions. Returns how many there were. */
  public int forget(Predicate<String> sessions) {
    return deliveries.values().stream().mapToInt(delivery -> delivery.forget(sessions)).sum();
  }

  private Delivery delivery(AttachedRecorder listener) {
    Delivery delivery = deliveries.get(listener.recorder());
    if (delivery == null) {
      throw new IllegalStateException("The recorder is not one of the host");
    }
    return delivery;
  }

  private void deliver(
      String session,
      List<AttachedRecorder> listeners,
      AttachedRecorder listener,
      ObservedEntry entry) {
    report(session, listeners, listener, listener.announce(entry));
    entry
        .observations()
        .forEach(event -> report(session, listeners, listener, listener.deliver(event)));
  }

  /** Notifies the others that a recorder threw. What they throw in turn is only counted. */
  private void report(
      String session,
      List<AttachedRecorder> listeners,
      AttachedRecorder by,
      @Nullable Observation failure) {
    if (failure == null) {
      return;
    }
    count(by, failure);
    for (AttachedRecorder other : listeners) {
      if (other.recorder() != by.recorder()) {
        delivery(other)
            .later(
                session,
                () -> {
                  Observation again = other.deliver(failure);
                  if (again != null) {
                    count(other, again);
                  }
                });
      }
    }
  }

  private void count(AttachedRecorder by, Observation failure) {
    long all = failures.incrementAndGet();
    // At powers of two, so that a recorder that always throws does not flood the log.
    if (Long.bitCount(all) == 1) {
      String detail = ((Observation.Failure) failure.fact()).detail();
      LOG.warn(
          "Recorder {} threw ({} failures of recorders so far): {}",
          delivery(by).name(),
          all,
          redaction == null
              ? Texts.inOneLine(detail)
              : "the message may contain secrets and is not logged");
    }
  }

  /** Delivers what was journaled, and accepts no more. */
  public void close(long millis) {
    deliveries.values().forEach(Delivery::end);
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    try {
      for (Delivery each : deliveries.values()) {
        long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        if (!each.deliveredWithin(Math.max(0, left))) {
          LOG.warn(
              "Closed before recorder {} had received everything; it is too slow", each.name());
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      abandon();
    }
  }

  public void abandon() {
    deliveries.values().forEach(Delivery::abandon);
  }
}
