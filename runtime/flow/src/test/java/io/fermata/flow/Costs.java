package io.fermata.flow;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** What work costs, compared with other work on the same machine. */
public final class Costs {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private Costs() {}

  /** How many times as much the one work costs as the other. */
  public static double times(Runnable work, Runnable other, int tries) {
    for (int i = 0; i < tries; i++) {
      work.run();
      other.run();
    }
    long least = Long.MAX_VALUE;
    long leastOther = Long.MAX_VALUE;
    for (int i = 0; i < tries; i++) {
      least = Math.min(least, cost(work));
      leastOther = Math.min(leastOther, cost(other));
    }
    return (double) least / leastOther;
  }

  private static long cost(Runnable work) {
    long began = THREADS.getCurrentThreadCpuTime();
    work.run();
    return THREADS.getCurrentThreadCpuTime() - began;
  }

  /** The bytes that work allocates. */
  public static long allocated(Runnable work) {
    work.run();
    long before = THREADS.getCurrentThreadAllocatedBytes();
    work.run();
    return THREADS.getCurrentThreadAllocatedBytes() - before;
  }
}
