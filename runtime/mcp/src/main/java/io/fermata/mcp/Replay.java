package io.fermata.mcp;

import io.vertx.core.Context;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The latest events of one call's stream, kept for a client whose connection breaks: it comes back
 * with the id of the last that it has, and hears the rest. It is told and heard on any thread.
 */
final class Replay implements StreamLog {
  /** How many bytes of events are kept, besides those that nobody has been told yet. */
  static final int ROOM = 64_000;

  /** Who hears the rest. */
  interface Listener {
    /** There is more to hear, or the end. */
    void wake();

    /** Another has come for it. */
    void replaced();

    /** It is to go, and comes back if it can. */
    void letGo();
  }

  private static final class Told {
    private final long number;
    private final byte[] event;

    Told(long number, byte[] event) {
      this.number = number;
      this.event = event;
    }
  }

  private final String id;
  private final Runnable forget;
  private final Runnable lost;
  private final Deque<Told> told = new ArrayDeque<>();
  private int bytes;
  private long last;
  private long heard;
  private boolean ended;
  private boolean givenUp;
  private int comings;
  private @Nullable Listener listener;
  private Runnable whenResumed = () -> {};

  /**
   * @param forget what to do when nobody needs it any more
   * @param lost what else to do when its client does not come back
   */
  Replay(String id, Runnable forget, Runnable lost) {
    this.id = id;
    this.forget = forget;
    this.lost = lost;
  }

  @Override
  public byte[] opening(long after) {
    return "id: %s.%d\nretry: 1000\ndata: \n\n"
        .formatted(id, after)
        .getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public byte[] tell(byte[] message, boolean live) {
    byte[] event = kept(message, live);
    wake();
    return event;
  }

  private synchronized byte[] kept(byte[] message, boolean live) {
    last++;
    byte[] event = EventStream.event(message, id + "." + last);
    told.add(new Told(last, event));
    bytes += event.length;
    if (live) {
      heard = last;
    }
    // While nobody is there, it is not known what of the latest has arrived.
    boolean there = live || listener != null;
    while (there && bytes > ROOM && told.size() > 1 && told.element().number <= heard) {
      bytes -= told.remove().event.length;
    }
    return event;
  }

  @Override
  public void end() {
    synchronized (this) {
      ended = true;
    }
    wake();
  }

  private void wake() {
    Listener woken;
    synchronized (this) {
      woken = listener;
    }
    if (woken != null) {
      woken.wake();
    }
  }

  @Override
  public synchronized boolean roomy() {
    Told first = told.peek();
    return first == null || (listener != null && first.number <= heard) || bytes < ROOM / 2;
  }

  @Override
  public synchronized boolean resumed() {
    return comings > 0;
  }

  @Override
  public synchronized void whenResumed(Runnable todo) {
    whenResumed = todo;
  }

  @Override
  public void letGo() {
    Listener going;
    synchronized (this) {
      going = listener;
    }
    if (going != null) {
      going.letGo();
    }
  }

  @Override
  public synchronized boolean lost() {
    return givenUp;
  }

  /** Whether its client was told all, up to the end. */
  synchronized boolean heardOut() {
    return ended && heard == last;
  }

  /** Whether it is over for one who has heard all up to a number. */
  synchronized boolean over(long number) {
    heard = Math.max(heard, number);
    return ended && number == last;
  }

  /** The events behind a number; null if some of them are not kept any more. */
  synchronized @Nullable List<byte[]> after(long number) {
    long first = told.isEmpty() ? last + 1 : told.element().number;
    if (number < first - 1 || number > last) {
      return null;
    }
    List<byte[]> rest = new ArrayList<>();
    told.stream().filter(each -> each.number > number).forEach(each -> rest.add(each.event));
    return rest;
  }

  /**
   * Lets a client hear what is behind a number, and all that follows.
   *
   * @return whether there is anything to hear: not if it was given up meanwhile
   */
  boolean listen(Listener newcomer, long number) {
    Listener before;
    Runnable resumed;
    synchronized (this) {
      if (givenUp || after(number) == null) {
        return false;
      }
      comings++;
      before = listener;
      listener = newcomer;
      heard = number;
      resumed = whenResumed;
    }
    if (before != null) {
      before.replaced();
    }
    newcomer.wake();
    resumed.run();
    return true;
  }

  /**
   * A client has gone, or has all. Yields what {@link #giveUp} is to be told if it does not come
   * back.
   */
  synchronized int left(@Nullable Listener leaving) {
    if (listener == leaving) {
      listener = null;
    }
    return listener == null ? comings : -1;
  }

  @Override
  public void await(Context context) {
    await(context, null);
  }

  /** Begins the time in which a client that has disconnected may resume. */
  void await(Context context, @Nullable Listener leaving) {
    int mark = left(leaving);
    context.owner().setTimer(Replays.GRACE.toMillis(), late -> giveUp(mark));
  }

  /** The time is over in which a client could come back. */
  void giveUp(int mark) {
    boolean gone;
    synchronized (this) {
      gone = !givenUp && comings == mark && listener == null;
      givenUp |= gone;
    }
    if (gone) {
      forget.run();
      lost.run();
    }
  }
}
