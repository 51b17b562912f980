package io.fermata.bench.load;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A closed loop of clients: each sends its next call when the last one was answered. */
public final class Load {
  /** One client's work: a unit of calls, each timed by the recorder. */
  public interface Unit {
    void run(Recorder recorder, long number) throws Exception;
  }

  /** Collects the latencies of one client while the window is open. */
  public static final class Recorder {
    private long[] nanos = new long[1024];
    private int count;
    private volatile boolean open;

    public <T> T timed(Callable<T> call) throws Exception {
      long before = System.nanoTime();
      T reply = call.call();
      long took = System.nanoTime() - before;
      if (open) {
        if (count == nanos.length) {
          nanos = Arrays.copyOf(nanos, count * 2);
        }
        nanos[count++] = took;
      }
      return reply;
    }
  }

  private final List<Unit> clients = new ArrayList<>();
  private final int callsPerUnit;
  private final Supplier<ResourceUsage> usage;
  private final AtomicReference<@Nullable Throwable> wrong = new AtomicReference<>();
  private volatile boolean stopped;

  Load(int count, Callable<Unit> client, int callsPerUnit) throws Exception {
    this(count, client, callsPerUnit, () -> ResourceUsage.ofCpu(cpu()));
  }

  /**
   * @param client makes one of the clients
   * @param usage what was used so far
   */
  public Load(int count, Callable<Unit> client, int callsPerUnit, Supplier<ResourceUsage> usage)
      throws Exception {
    for (int i = 0; i < count; i++) {
      clients.add(client.call());
    }
    this.callsPerUnit = callsPerUnit;
    this.usage = usage;
  }

  /** Warms up, measures, and stops; fails if any reply was wrong. */
  public Measurement measure(Duration warmUp, Duration window) throws Exception {
    List<Recorder> recorders = new ArrayList<>();
    CountDownLatch ended = new CountDownLatch(clients.size());
    for (int i = 0; i < clients.size(); i++) {
      Recorder recorder = new Recorder();
      recorders.add(recorder);
      Unit client = clients.get(i);
      long first = (long) i << 32;
      Thread thread = new Thread(() -> loop(client, recorder, first, ended), "load-" + i);
      thread.setDaemon(true);
      thread.start();
    }
    Thread.sleep(warmUp.toMillis());
    recorders.forEach(recorder -> recorder.open = true);
    long startedAt = System.nanoTime();
    ResourceUsage before = usage.get();
    Thread.sleep(window.toMillis());
    recorders.forEach(recorder -> recorder.open = false);
    double seconds = (System.nanoTime() - startedAt) / 1e9;
    ResourceUsage used = usage.get().since(before);
    stopped = true;
    ended.await();
    Throwable thrown = wrong.get();
    if (thrown != null) {
      throw new IllegalStateException("A reply was wrong", thrown);
    }
    return Measurement.of(all(recorders), callsPerUnit, seconds, used);
  }

  private void loop(Unit client, Recorder recorder, long first, CountDownLatch ended) {
    try {
      for (long number = first; !stopped; number++) {
        client.run(recorder, number);
      }
    } catch (Exception e) {
      wrong.compareAndSet(null, e);
      stopped = true;
    } finally {
      ended.countDown();
    }
  }

  private static long[] all(List<Recorder> recorders) {
    return recorders.stream()
        .flatMapToLong(recorder -> Arrays.stream(recorder.nanos, 0, recorder.count))
        .toArray();
  }

  /** The CPU time of this process, clients included. */
  private static long cpu() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }
}
