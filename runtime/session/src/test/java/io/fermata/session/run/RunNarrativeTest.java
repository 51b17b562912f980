package io.fermata.session.run;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.session.actor.SessionPort.Situation;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.RunEnd;
import io.fermata.session.journal.SessionState;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What is kept of a tool's run for its narrative. */
class RunNarrativeTest {
  private static final int COLLECTIONS = 20;

  record Calls(@Nullable String last) {}

  private final Flow<Calls> flow =
      Flow.of("calls", Calls.class)
          .description("Gets signals.")
          .waitFor("listen", "bell", "last")
          .edge(START, "listen")
          .edge("listen", END)
          .compile();

  private final RunNarrative narrative = new RunNarrative();
  private final List<WeakReference<Entry<Event>>> entries = new ArrayList<>();
  private RunState run = RunState.NONE;

  private void happens(Event event) {
    Entry<Event> entry = Entry.of(entries.size() + 1L, 1, Entry.Origin.SIGNAL, List.of(event));
    entries.add(new WeakReference<>(entry));
    narrative.add(entry, run);
    run = run.apply(event);
  }

  private void rings(int from, int to) {
    for (int i = from; i <= to; i++) {
      happens(new Event.Signalled("bell_" + i, null, 1));
    }
  }

  private String text(RunNarrative told) {
    Event last = new Event.Signalled("last", null, 1);
    Situation<RunState, Event> at =
        new Situation<>(
            SessionState.of(run),
            run.apply(last),
            List.of(last),
            entries.size(),
            1,
            Entry.Origin.SIGNAL,
            List.of(),
            null);
    return told.text(flow, at).get();
  }

  @Test
  void aRunThatIsNotLongIsToldFromItsBeginning() {
    happens(new Event.Started("r", 1, "f", "", 1));
    rings(2, RunNarrative.KEPT);
    assertThat(text(narrative)).startsWith("Run r of calls").contains("bell_2 came", "signal last");
  }

  @Test
  void ofALongRunTheLatestEntriesAreKeptAndItsNarrativeSaysThatOthersAreLeftOut() {
    happens(new Event.Started("r", 1, "f", "", 1));
    rings(2, 10 * RunNarrative.KEPT);
    assertThat(text(narrative))
        .startsWith("… earlier steps are left out\n")
        .contains("bell_" + 10 * RunNarrative.KEPT + " came", "signal last")
        .doesNotContain("Run r", "bell_" + 9 * RunNarrative.KEPT + " came");
    assertThat(kept()).isEqualTo(RunNarrative.KEPT);
  }

  @Test
  void aRunThatWasWokenFromItsSnapshotIsToldFromThere() {
    happens(new Event.Started("r", 1, "f", "", 1));
    String text = text(new RunNarrative());
    assertThat(text).startsWith("… earlier steps are left out\n").contains("signal last");
    assertThat(text).doesNotContain("Run r");
  }

  @Test
  void theNextRunOfASessionIsToldFromItsOwnBeginning() {
    happens(new Event.Started("r", 1, "f", "", 1));
    rings(2, 10);
    RunEnd end =
        new RunEnd("r", 1, RunState.Status.COMPLETED, List.of(), null, 1, null, false, null);
    narrative.add(Entry.<Event>of(11, 1, Entry.Origin.HOST, List.of()).ending(end), run);
    run = end.state(1);
    happens(new Event.Started("s", 1, "f", "", 1));
    assertThat(text(narrative)).startsWith("Run s of calls").contains("signal last");
  }

  /** How many entries are not garbage; a collection may leave some that are. */
  private long kept() {
    long kept = Long.MAX_VALUE;
    for (int i = 0; i < COLLECTIONS && kept > RunNarrative.KEPT; i++) {
      System.gc();
      kept = entries.stream().filter(entry -> entry.get() != null).count();
    }
    return kept;
  }
}
