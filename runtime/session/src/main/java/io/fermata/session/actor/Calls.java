package io.fermata.session.actor;

import io.fermata.session.actor.SessionCommand.Call;
import io.fermata.session.admin.Schedule;
import io.fermata.session.journal.CallLog;
import io.fermata.session.journal.Entry;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The calls of one session: the one being driven, and those that wait behind it in order of
 * arrival. None of this is journaled.
 */
public final class Calls {
  private final int bound;
  private final Deque<Waiting> queue = new ArrayDeque<>();
  private @Nullable Waiting current;
  private @Nullable Waiting aside;

  Calls(int bound) {
    this.bound = bound;
  }

  /** A call, and the repetitions of it that arrived before it was answered. */
  public static final class Waiting {
    public final Call call;
    private final List<Call> all = new ArrayList<>();
    private final List<Visit> visited = new ArrayList<>();

    /** The call that was being driven when this one was handled in between. */
    @Nullable Waiting held;

    /** The calls whose work this one ends. */
    final List<Call> displaced = new ArrayList<>();

    /** Its turn has come. One that has not only waits for what others have caused. */
    boolean taken;

    /** The timers that were set while it was driven, and have not fired. */
    final List<String> timers = new ArrayList<>();

    /** It is replied to as soon as it is journaled, even if the run still works. */
    boolean hasty;

    Waiting(Call call) {
      this.call = call;
      this.hasty = call.mode().hasty();
      this.all.add(call);
    }

    /** All calls that get its reply. */
    public List<Call> listeners() {
      List<Call> listeners = new ArrayList<>(all);
      if (held != null) {
        listeners.addAll(held.listeners());
      }
      return listeners;
    }

    public List<Visit> visited() {
      List<Visit> whole = new ArrayList<>(held == null ? List.of() : held.visited());
      whole.addAll(visited);
      return whole;
    }

    /** Releases the held call, which continues without this one. */
    @Nullable Waiting releaseHeld() {
      Waiting other = held;
      held = null;
      if (other != null) {
        other.visited.addAll(visited);
      }
      return other;
    }

    /** The callers of another call are notified that this one has ended its work. */
    void displace(Waiting other) {
      displaced.addAll(other.listeners());
      displaced.addAll(other.allDisplaced());
    }

    List<Call> allDisplaced() {
      List<Call> whole = new ArrayList<>(displaced);
      if (held != null) {
        whole.addAll(held.allDisplaced());
      }
      return whole;
    }

    /** The id of the call, if it has one; the one that it holds may have another. */
    public List<String> ownIds() {
      return addOwnIds(List.of());
    }

    private List<String> addIds(List<String> ids) {
      List<String> own = addOwnIds(ids);
      return held == null ? own : held.addIds(own);
    }

    private List<String> addOwnIds(List<String> ids) {
      List<String> more = ids;
      for (Call each : all) {
        String callId = each.callId();
        if (callId != null && !CallLog.has(more, callId)) {
          more = new ArrayList<>(more);
          more.add(callId);
        }
      }
      return more;
    }

    /** Whether a caller waits who accepts a task. */
    public boolean takesTasks() {
      return any(c -> c.mode().takesTasks());
    }

    /** Whether a client of the conversation waits; a sender of signals is none. */
    public boolean fromClient() {
      return any(c -> c.origin().session() != null);
    }

    /** Whether a caller waits who will call again where a run stops; a schedule does not. */
    public boolean callsAgain() {
      return any(
          c -> {
            Entry.Owner owner = c.origin().owner();
            return owner != null && !owner.principal().equals(Schedule.PRINCIPAL);
          });
    }

    private boolean any(Predicate<Call> property) {
      for (Waiting waiting = this; waiting != null; waiting = waiting.held) {
        for (Call each : waiting.all) {
          if (property.test(each)) {
            return true;
          }
        }
      }
      return false;
    }

    boolean waitsFor(long id) {
      return any(call -> call.id() == id) || find(displaced, id) != null;
    }

    /**
     * Removes a caller on whom nothing depends: whose work has ended, or one of several that wait
     * for the same view. Null if the work is that of this caller.
     */
    @Nullable Call leave(long id) {
      List<Call> among = find(displaced, id) == null ? all : displaced;
      if (among == all && (!call.request().readsOnly() || all.size() == 1)) {
        return null;
      }
      Call left = find(among, id);
      among.remove(left);
      return left;
    }

    private static @Nullable Call find(List<Call> calls, long id) {
      return calls.stream().filter(each -> each.id() == id).findFirst().orElse(null);
    }

    boolean isNamed(String callId) {
      return any(c -> CallLog.same(callId, c.callId()));
    }

    /** What was entered so far was not entered by this call. */
    public void forgetVisits() {
      visited.clear();
    }

    public void visit(String node, long at) {
      visited.add(new Visit(node, at));
    }
  }

  /** A node that a call made the run enter. */
  public record Visit(String node, long at) {}

  boolean none() {
    return current == null && queue.isEmpty();
  }

  @Nullable Waiting current() {
    return current;
  }

  void drive(Waiting waiting) {
    current = waiting;
  }

  /** What another call is handled before, until that one is journaled; null for nothing. */
  void setAside(@Nullable Waiting waiting) {
    aside = waiting;
  }

  /** The ids of the calls being driven. */
  List<String> ids() {
    List<String> held = aside == null ? List.of() : aside.addIds(List.of());
    return current == null ? held : current.addIds(held);
  }

  /** Ends the call being driven and returns it. */
  @Nullable Waiting release() {
    Waiting released = current;
    current = null;
    return released;
  }

  /**
   * Joins the call to a waiting one that it repeats, or that waits for the same. Returns whether
   * there is one.
   */
  boolean joins(Call call) {
    Waiting same = same(call.callId());
    if (same == null
        && current != null
        && call.request().readsOnly()
        && current.call.request().readsOnly()) {
      same = current;
    }
    if (same != null) {
      same.all.add(call);
    }
    return same != null;
  }

  private @Nullable Waiting same(@Nullable String callId) {
    if (callId == null) {
      return null;
    }
    if (current != null && current.isNamed(callId)) {
      return current;
    }
    return queue.stream().filter(w -> w.isNamed(callId)).findFirst().orElse(null);
  }

  boolean enqueue(Call call) {
    return queue.size() < bound && queue.add(new Waiting(call));
  }

  /** Returns the current call to the head of the queue. */
  void putBack(Waiting waiting) {
    current = null;
    putFirst(waiting);
  }

  void putFirst(Waiting waiting) {
    queue.addFirst(waiting);
  }

  /** The call that waits longest; null for none. */
  @Nullable Waiting first() {
    return queue.peek();
  }

  @Nullable Waiting poll() {
    return queue.poll();
  }

  /** Removes a queued call whose caller has stopped waiting. */
  @Nullable Waiting withdraw(long id) {
    for (Waiting waiting : queue) {
      if (waiting.call.id() == id) {
        queue.remove(waiting);
        return waiting;
      }
    }
    return null;
  }
}
