package io.fermata.persistence.contract;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.Store;
import io.fermata.persistence.contract.Note.Appointment;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Note.Plan;
import io.fermata.persistence.contract.Note.Secret;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.StoredEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What every store promises. */
public abstract class JournalContract extends EssentialContract {

  @Test
  void aRecoveredJournalIsContinued() {
    try (Host host = Host.on(store)) {
      host.open("a").write(new Line("one"));
    }
    try (Host host = Host.on(store)) {
      host.open("a").write(new Line("two"));
    }
    try (Host host = Host.on(store)) {
      assertThat(host.open("a").lines()).containsExactly("one", "two");
    }
  }

  @Test
  void aWriteThatIsRefusedTakesNoOtherWithIt() {
    try (Host host = Host.on(store)) {
      Host.Desk first = host.open("a");
      Host.Desk second = host.open("a");
      first.lines();
      second.lines();
      List<CompletionStage<Long>> others = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        others.add(host.open("other " + i).begin(new Line("mine")));
      }
      List<CompletionStage<Long>> both =
          Stream.of(first, second).map(desk -> desk.attempt(new Line("one"))).toList();

      others.forEach(other -> assertThat(Host.await(other)).isEqualTo(1));
      assertThat(both.stream().filter(JournalContract::written)).hasSize(1);
      assertThat(host.open("a").lines()).containsExactly("one");
    }
  }

  private static boolean written(CompletionStage<Long> write) {
    try {
      return Host.await(write) == 1;
    } catch (AssertionError refused) {
      assertThat(refused).hasRootCauseInstanceOf(Host.RefusedException.class);
      return false;
    }
  }

  @Test
  void anEventThatCannotBeSerializedIsNotWritten() {
    try (Host host = Host.on(store)) {
      CompletionStage<Long> refused = host.open("a").attempt(new Secret());
      assertThatThrownBy(() -> Host.await(refused))
          .hasRootCauseInstanceOf(Host.RefusedException.class);
      assertThat(host.open("a").content()).isEqualTo(new Notebook.Content(List.of(), 0));
    }
  }

  @Test
  void twoHundredActorsWriteAtOnceAndNothingIsMixedUp() {
    int actors = 200;
    try (Host host = Host.on(store)) {
      List<CompletionStage<Long>> writes = new ArrayList<>();
      for (int actor = 0; actor < actors; actor++) {
        Host.Desk desk = host.open("actor " + actor);
        for (int line = 0; line < 5; line++) {
          writes.add(desk.begin(new Line(actor + "." + line)));
        }
        writes.add(desk.begin(actor % 2 == 0 ? new Plan("plan") : new Line("line")));
      }
      writes.forEach(Host::await);
    }
    try (Host host = Host.on(store)) {
      for (int actor = 0; actor < actors; actor++) {
        assertThat(host.open("actor " + actor).lines())
            .startsWith(actor + ".0", actor + ".1", actor + ".2", actor + ".3", actor + ".4")
            .hasSize(6);
      }
      assertThat(host.working())
          .containsExactlyInAnyOrderElementsOf(
              IntStream.range(0, actors)
                  .filter(actor -> actor % 2 == 0)
                  .mapToObj(actor -> "actor " + actor)
                  .toList());
    }
  }

  @Test
  void workingListsTheJournalsWhoseLastRecordLeavesWorkUnfinished() {
    try (Host host = Host.on(store)) {
      host.open("idle").write(new Line("said"));
      host.open("at work").write(new Line("said")).write(new Plan("to do"));
      host.open("done").write(new Plan("to do")).write(new Line("did it"));
      host.open("done at once").write(new Plan("to do"), new Line("did it"));
      host.open("ended").write(new Plan("to do")).write(new Conclusion("over"));

      assertThat(host.working()).containsExactly("at work");
    }
    try (Host host = Host.on(store)) {
      assertThat(host.working()).containsExactly("at work");
    }
  }

  @Test
  void dueListsTheJournalsOfAShardThatWantToBeLookedAtByThenTheEarliestFirst() {
    String first = "first";
    String second = neighbourOf(first, "second");
    String third = neighbourOf(first, "third");
    long inTheYear2286 = 10_000_000_000_000L;
    List<Due> byNine = List.of(new Due(first, 7), new Due(second, 8), new Due(third, 9));
    try (Host host = Host.on(store)) {
      host.open(third).write(new Appointment(9));
      host.open(first).write(new Line("said"), new Appointment(7));
      host.open("later").write(new Appointment(inTheYear2286));
      host.open("never").write(new Line("said"));
      host.open(second).write(new Appointment(8));

      assertThat(host.due(9, 10)).isEqualTo(byNine);
    }
    try (Host host = Host.on(store)) {
      assertThat(host.due(9, 10)).isEqualTo(byNine);
      assertThat(host.due(9, 2)).isEqualTo(byNine.subList(0, 2));
      assertThat(host.due(6, 10)).isEmpty();
      assertThat(host.due(inTheYear2286, 10)).endsWith(new Due("later", inTheYear2286)).hasSize(4);
    }
  }

  @Test
  void whatWasDueBeforeATimeIsLeftOutIfItIsNotAskedFor() {
    String late = "late";
    String later = neighbourOf(late, "later");
    String moved = neighbourOf(late, "moved");
    try (Host host = Host.on(store)) {
      host.open(late).write(new Appointment(5));
      host.open(later).write(new Appointment(7));
      host.open(moved).write(new Appointment(5)).write(new Appointment(8));
    }
    try (Host host = Host.on(store)) {
      List<Due> last = List.of(new Due(later, 7), new Due(moved, 8));
      assertThat(host.due(0, 9, 10))
          .startsWith(new Due(late, 5))
          .endsWith(last.get(0), last.get(1));
      assertThat(host.due(6, 9, 10)).isEqualTo(last);
      assertThat(host.due(7, 9, 10)).isEqualTo(last);
      assertThat(host.due(6, 9, 1)).isEqualTo(last.subList(0, 1));
      assertThat(host.due(8, 8, 10)).isEqualTo(last.subList(1, 2));
      assertThat(host.due(9, 9, 10)).isEmpty();
    }
  }

  /** Another name of the same shard. */
  private static String neighbourOf(String name, String beginning) {
    return IntStream.iterate(1, i -> i + 1)
        .mapToObj(i -> beginning + i)
        .filter(other -> Shard.of(other) == Shard.of(name))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aTimeThatALaterRecordLeftBehindIsNotDue() {
    try (Host host = Host.on(store)) {
      host.open("kept").write(new Appointment(5)).write(new Line("was there"));
      host.open("kept at once").write(new Appointment(5), new Line("was there"));
      host.open("moved").write(new Appointment(5)).write(new Appointment(50));
      host.open("earlier").write(new Appointment(50)).write(new Appointment(5));
      host.open("ended").write(new Appointment(5)).write(new Conclusion("over"));

      assertThat(host.due(5, 10)).containsExactly(new Due("earlier", 5));
    }
    try (Host host = Host.on(store)) {
      assertThat(host.due(5, 10)).containsExactly(new Due("earlier", 5));
      assertThat(host.due(50, 10)).containsExactly(new Due("earlier", 5), new Due("moved", 50));
    }
  }

  private static DirectoryEntry listed(String id) {
    return new DirectoryEntry(id, "note", "ann", "desk", 3, 1, 2, Set.of("vip"), Map.of("at", id));
  }

  @Test
  void aJournalOfAnotherStoreIsAdoptedWithItsTagsAndNotTwice() {
    List<NewEntry> records = new ArrayList<>();
    try (Host other = Host.on(newStore())) {
      other.open("a").write(new Line("one"), new Line("two"), new Appointment(7));
      for (StoredEntry record : Host.await(other.store().read("a", 2, 10))) {
        Set<String> tags = record.seq() == 3 ? Set.of(JournalTags.due(7)) : Set.of();
        records.add(new NewEntry(record, 5, tags));
      }
    }
    try (Host host = Host.on(store)) {
      assertThat(Host.await(host.store().importJournal("a", records, listed("a")))).isEqualTo(2);

      assertThat(Host.await(host.store().directory().get("a"))).contains(listed("a"));
      assertThat(host.due(9, 10)).containsExactly(new Due("a", 7));
      assertThatThrownBy(() -> Host.await(host.store().importJournal("a", records)))
          .rootCause()
          .hasMessageContaining("already has the journal a");
      List<NewEntry> swapped = List.of(records.get(1), records.get(0));
      assertThatThrownBy(() -> Host.await(host.store().importJournal("b", swapped, listed("b"))))
          .rootCause()
          .hasMessageContaining("record 2 follows record 3");
      assertThat(Host.await(host.store().read("b", 1, 10))).isEmpty();
      assertThat(Host.await(host.store().directory().get("b"))).isEmpty();
    }
    try (Host host = Host.on(store)) {
      assertThat(host.open("a").write(new Line("more")).content())
          .isEqualTo(new Notebook.Content(List.of("two", "more"), 4));
    }
  }

  protected static List<Line> lines(int count) {
    return IntStream.rangeClosed(1, count).mapToObj(i -> new Line("line " + i)).toList();
  }

  @Test
  void aJournalThatBeginsLateIsRecovered() {
    int length = 1_000;
    try (Host host = Host.on(store)) {
      host.open("a")
          .writeTogether(lines(length - 1))
          .write(new Conclusion("over"))
          .write(new Line("afterwards"));
      host.sweep();
    }
    try (Host host = Host.on(store)) {
      Host.Desk desk = host.open("a");
      assertThat(desk.content())
          .isEqualTo(new Notebook.Content(List.of("over", "afterwards"), length + 1));
      desk.write(new Line("more"));
    }
    try (Host host = Host.on(store)) {
      assertThat(host.open("a").lines()).containsExactly("over", "afterwards", "more");
    }
  }

  @Test
  void sweepingWhileActorsWriteLosesNothing() {
    try (Host host = Host.on(store)) {
      List<CompletionStage<?>> all = new ArrayList<>();
      for (int run = 1; run <= 20; run++) {
        for (int actor = 0; actor < 20; actor++) {
          Host.Desk desk = host.desk("actor " + actor);
          all.add(desk.begin(new Line("line"), new Plan("plan")));
          all.add(desk.begin(new Conclusion("run " + run)));
        }
        all.add(host.store().sweep(0));
      }
      all.forEach(Host::await);
      host.sweep();
    }
    try (Host host = Host.on(store)) {
      for (int actor = 0; actor < 20; actor++) {
        assertThat(host.open("actor " + actor).content())
            .isEqualTo(new Notebook.Content(List.of("run 20"), 60));
        assertThat(records("actor " + actor)).containsExactly(60L);
      }
    }
  }

  @Test
  void aSliceOfAJournalIsReadFromItsBeginningOrFromItsEnd() {
    try (Host host = Host.on(store)) {
      Host.Desk desk = host.open("a");
      IntStream.rangeClosed(1, 9).forEach(line -> desk.write(new Line("line " + line)));
      host.open("b").write(new Line("of another journal"));

      assertThat(host.read("a", 1, 3)).containsExactly("line 1", "line 2", "line 3");
      assertThat(host.read("a", 0, 1)).containsExactly("line 1");
      assertThat(host.read("a", 8, 100)).containsExactly("line 8", "line 9");
      assertThat(host.read("a", 10, 100)).isEmpty();
      assertThat(host.readBack("a", Long.MAX_VALUE, 2)).containsExactly("line 9", "line 8");
      assertThat(host.readBack("a", 3, 100)).containsExactly("line 2", "line 1");
      assertThat(host.readBack("a", 1, 100)).isEmpty();
      assertThat(host.read("nobody's", 1, 100)).isEmpty();
    }
  }

  @Test
  void aStoredRecordIsWhatTheSerializerWrote() {
    try (Host host = Host.on(store)) {
      host.open("a").write(new Line("one"), new Plan("two"));

      StoredEntry second = Host.await(host.store().read("a", 2, 1)).get(0);
      assertThat(second.seq()).isEqualTo(2);
      assertThat(second.serializerId()).isEqualTo(new NoteSerializer().identifier());
      assertThat(second.manifest()).isEqualTo("Plan");
      assertThat(second.payload()).asString(UTF_8).isEqualTo("two");
    }
  }

  @Test
  void aSliceWithoutMeaningIsRefused() {
    try (OpenStore open = store.open()) {
      assertThatThrownBy(() -> open.read("a", 1, 0))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "0 records cannot be read at once; read 1 to 1000 and continue after the last");
      assertThatThrownBy(() -> open.readBack("a", 1, OpenStore.MAX_ENTRIES + 1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("1001 records");
      assertThatThrownBy(() -> open.read("a", -1, 10))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("a has no record -1; sequence numbers start at 1");
    }
  }

  @Test
  void aForgottenJournalLeavesNothingAndItsIdBeginsAgain() {
    try (Host host = Host.on(store)) {
      host.openWithSnapshots("a").write(new Line("one"), new Line("two"), new Plan("three"));
      host.open("b").write(new Plan("to do"));
      host.open("c").write(new Appointment(5));
      host.open("d").write(new Conclusion("over"));
      for (String id : List.of("a", "b")) {
        Host.await(host.store().directory().put(entry(id)));
      }
    }
    try (Host host = Host.on(store)) {
      assertThat(host.forget("a")).isEqualTo(new Deleted(1, 3, 1, 1));
      assertThat(host.forget("c", "d", "nobody's")).isEqualTo(new Deleted(2, 2, 0, 0));
      assertThat(host.forget("a")).isEqualTo(Deleted.NOTHING);

      assertThat(List.of(records("a"), snapshots("a"), records("c"), records("d")))
          .allMatch(List::isEmpty);
      assertThat(host.working()).containsExactly("b");
      assertThat(host.due(5, 10)).isEmpty();
      assertThat(host.sweep()).isZero();
      assertThat(Host.await(host.store().directory().get("a"))).isEmpty();
      assertThat(Host.await(host.store().directory().get("b"))).isPresent();
      assertThat(host.open("b").lines()).containsExactly("to do");
      assertThat(host.openWithSnapshots("a").write(new Line("anew")).content())
          .isEqualTo(new Notebook.Content(List.of("anew"), 1));
    }
  }

  @Test
  void twoHostsWithTwoStoresLiveInOneProcess() {
    Store other = newStore();
    try (Host first = Host.on(store);
        Host second = Host.on(other)) {
      first.open("a").write(new Line("in the first"));
      second.open("a").write(new Line("in the second"));
    }
    try (Host second = Host.on(other)) {
      assertThat(second.open("a").lines()).containsExactly("in the second");
    }
  }

  /** The sequence numbers that are kept. */
  protected abstract List<Long> records(String persistenceId);

  /** The sequence numbers of the snapshots that are kept. */
  protected abstract List<Long> snapshots(String persistenceId);

  protected static DirectoryEntry entry(String id) {
    return new DirectoryEntry(id, "thread", "ann", "support", 1, 1, 1, Set.of(), Map.of());
  }
}
