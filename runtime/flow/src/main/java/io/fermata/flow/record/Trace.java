package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.Write;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Observation.Source;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Answers why a field of a run has the value that it has, and what it went into.
 *
 * <pre>{@code
 * Trace trace = Trace.of(flow, journal);
 * System.out.println(trace.why("price"));
 * }</pre>
 *
 * <p>A value rests on the step that wrote it, on what that step read, and on the decisions without
 * which the run need not have come there. A step is taken to rest on the whole state unless it says
 * what it reads ({@code EffectOptions.reads}) or reads field by field ({@code Run.get}). What the
 * mapping into or out of a sub-flow looked at is not journaled: a value that stood in the state
 * there is taken to come from it, any other from all of it.
 *
 * <p>It is a recorder, and knows the run whose start it received last. Behind a {@link Redaction}
 * it contains no secrets.
 */
public final class Trace implements Recorder {
  private static final int DEPTH = 20;
  private static final int NODES = 100;

  /**
   * One write.
   *
   * @param number its place among all that was received
   * @param saw the number up to which its writer knew the run
   * @param reads what its writer looked at; a path, or the home of a flow for all its fields
   * @param own what lies within a sub-flow that is only beginning, and cannot be where it comes
   *     from
   * @param asker the step that asked for it
   */
  record Entry(
      int number,
      int saw,
      Occurrence moment,
      Source source,
      Write write,
      List<String> reads,
      @Nullable String own,
      @Nullable Place asker) {
    String path() {
      return write.path();
    }

    @Nullable JsonNode value() {
      return write.value();
    }

    /** Whether nothing is left of what was there before. */
    boolean replaces() {
      return write.verb() == Write.Verb.SET || write.verb() == Write.Verb.DELETE;
    }
  }

  /** A decision that was taken, for one way or for branches. */
  record Choice(int number, Occurrence moment, Event.Decided decided) {}

  private final Flow<?> flow;
  private final List<Entry> entries = new ArrayList<>();
  private final List<Choice> choices = new ArrayList<>();
  private final Map<Place, Place> cameFrom = new HashMap<>();
  private final Map<String, Place> askers = new HashMap<>();
  private final List<String> reads = new ArrayList<>();
  private @Nullable String run;
  private String judged = "";

  /** Where the state lives of the sub-flow that began or ended last. */
  private String home = "";

  private int count;
  private int begun;

  public Trace(Flow<?> flow) {
    this.flow = flow;
  }

  /** The trace of the latest run in a journal. */
  public static Trace of(Flow<?> flow, List<Event> journal) {
    return RunObserver.replayed(flow, new Trace(flow), journal);
  }

  /** Why a field has its value, at the end of what was received. */
  public Because why(String field) {
    return why(field, DEPTH, NODES);
  }

  /**
   * Why a field has its value.
   *
   * @param depth how many steps back at most
   * @param nodes how many reasons at most
   */
  public synchronized Because why(String field, int depth, int nodes) {
    return new ValueCauses(flow, entries, choices, cameFrom, nodes).why(field, depth);
  }

  /** What the latest value of a field went into. */
  public Because fed(String field) {
    return fed(field, DEPTH, NODES);
  }

  public synchronized Because fed(String field, int depth, int nodes) {
    return new ValueCauses(flow, entries, choices, cameFrom, nodes).fed(field, depth);
  }

  // --- receiving --------------------------------------------------------------------------------

  @Override
  public synchronized void onEvent(Observation event) {
    String name = event.moment().run();
    if (run == null || event.fact() instanceof Observation.RunStart) {
      run = name;
    }
    if (name.equals(run)) {
      count++;
      event.to(this);
    }
  }

  @Override
  public void onRunStart(Occurrence at, Observation.RunStart event) {
    entries.clear();
    choices.clear();
    cameFrom.clear();
    askers.clear();
  }

  @Override
  public void onPause(Occurrence at, Observation.Pause event) {
    Place place = at.place();
    if (place != null) {
      event.questions().forEach(q -> askers.put(q.field(), place));
      Event.Widget widget = event.widget();
      if (widget != null && widget.field() != null) {
        askers.put(widget.field(), place);
      }
    }
  }

  @Override
  public void onAnswer(Occurrence at, Observation.Answer event) {
    judged = event.field();
  }

  @Override
  public void onRead(Occurrence at, Observation.Read event) {
    reads.add(event.path());
  }

  @Override
  public void onCommit(Occurrence at, Event.Committed event) {
    reads.clear();
  }

  @Override
  public void onSubflowEntry(Occurrence at, Event.Opened event) {
    home = event.scope();
    begun = count;
  }

  @Override
  public void onSubflowExit(Occurrence at, Event.Closed event) {
    home = event.scope();
    begun = count;
  }

  @Override
  public void onWrite(Occurrence at, Observation.Written event) {
    switch (event.source()) {
      case ACTION -> add(at, event, sawBy(at), List.copyOf(reads), null, null);
      case INPUT -> add(at, event, begun, List.of(around(at, home)), home, null);
      case OUTPUT -> add(at, event, begun, List.of(home), null, null);
      case CLIENT -> add(at, event, count, List.of(), null, askers.get(event.write().path()));
      case VALIDATOR -> add(at, event, count, List.of(judged), null, null);
      default -> add(at, event, count, List.of(), null, null);
    }
  }

  /** An action's writes are of one moment: none of them has seen another. */
  private int sawBy(Occurrence at) {
    if (entries.isEmpty()) {
      return count;
    }
    Entry last = entries.get(entries.size() - 1);
    boolean continues =
        last.number() == count - 1
            && last.source() == Source.ACTION
            && last.moment().step().equals(at.step());
    return continues ? last.saw() : count;
  }

  /** The home of the flow around a sub-flow; an item's has its index in it. */
  private static String around(Occurrence moment, String home) {
    boolean item = moment.name().equals(Flow.START);
    return item ? ValueCauses.outer(ValueCauses.outer(home)) : moment.home();
  }

  private void add(
      Occurrence at,
      Observation.Written event,
      int saw,
      List<String> basis,
      @Nullable String own,
      @Nullable Place asker) {
    entries.add(new Entry(count, saw, at, event.source(), event.write(), basis, own, asker));
  }

  @Override
  public void onDecision(Occurrence at, Event.Decided event) {
    if (event.chosen() != null) {
      choices.add(new Choice(count, at, event));
    }
  }

  @Override
  public void onSelected(Occurrence at, Event.Decided event) {
    choices.add(new Choice(count, at, event));
  }

  @Override
  public void onNext(Occurrence at, Event.Moved event) {
    came(at, event.to());
  }

  @Override
  public void onLoop(Occurrence at, Event.Moved event, int pass) {
    came(at, event.to());
  }

  @Override
  public void onFork(Occurrence at, Event.Forked event) {
    event.heads().forEach(head -> came(at, head.place()));
  }

  private void came(Occurrence from, Place to) {
    Place place = from.place();
    if (place != null) {
      cameFrom.put(to, place);
    }
  }
}
