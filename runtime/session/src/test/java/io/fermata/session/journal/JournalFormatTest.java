package io.fermata.session.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import com.fasterxml.jackson.databind.type.TypeFactory;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.RecordedResult;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.session.Golden;
import io.fermata.session.journal.JournalFormats.Upcaster;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The journal's format is a promise: what a release has written, every later one reads. */
class JournalFormatTest {
  private final JournalSerializer serializer = new JournalSerializer();

  /** One of every kind of event, with every part filled. */
  private static List<Event> events() {
    Place place = Place.parse("pay#2");
    Place inBranch = Place.parse("pay#2:0|sub/ask#1");
    JsonNode text = Json.tree("x");
    Event.Question question =
        new Event.Question(
            "email", "Email?", Json.object().put("type", "string"), List.of("a"), "c", true);
    Event.Widget widget = new Event.Widget("show", Json.object().put("n", 1), true, "plan", text);
    return List.of(
        new Event.Started("run-1", 3, "abc", "why", 1),
        new Event.Answered(Map.of("email", text), place, 2),
        new Event.Accepted(place, "email", text, Map.of("domain", text)),
        new Event.Rejected(place, "email", "no"),
        new Event.Misplaced(place, List.of("each.2.age"), 2),
        new Event.Postponed(place, "email"),
        new Event.Passed(place, "email", text),
        new Event.Asked(place, List.of(question), "all", new Event.WaitLimits(8L, 7L), 3),
        new Event.Shown(place, widget, new Event.WaitLimits(8L, 7L), 4),
        new Event.Slept(place, 5, 4),
        new Event.Awaited(place, "paid", new Event.WaitLimits(8L, 7L), 4),
        new Event.Unattended(true, 4),
        new Event.Signalled("paid", text, 4),
        new Event.Received(place, "paid", "email", text),
        new Event.Woken(place, 5),
        new Event.DeadlinePassed(place, "late", 5),
        new Event.Reminding(place, 1, 2, 5),
        new Event.Reminded(place, 1, "m", 6L),
        new Event.Attempted(place, "email", 1, 5),
        new Event.AttemptFailed(place, 1, ErrorCode.STEP_FAILED, "m", "d", 6),
        new Event.Committed(
            place,
            List.of(
                new Write(Write.Verb.SET, "a", text),
                new Write(Write.Verb.MERGE, "b", Json.object()),
                new Write(Write.Verb.APPEND, "c", text),
                new Write(Write.Verb.DELETE, "d", null)),
            List.of("email"),
            List.of(new Event.Emitted("told", text)),
            true,
            null),
        new Event.Tagged(place, List.of("vip"), List.of("new")),
        new Event.Decided(
            place,
            List.of(
                new Event.Tried(
                    "company",
                    true,
                    List.of(
                        new Event.Seen("seats", Json.tree(7), "gt limit", Json.tree(5), true)))),
            List.of("next")),
        new Event.Moved(place, Place.parse("next#1"), true, 7),
        new Event.Forked(place, List.of(new Event.Head("0", inBranch, true, text)), true, 7),
        new Event.Arrived(inBranch, text, 7),
        new Event.BranchFailed(inBranch, ErrorCode.STEP_FAILED, "m", 7, null),
        new Event.Joined(
            place,
            List.of("0"),
            List.of("1"),
            List.of(new Write(Write.Verb.SET, "a", text)),
            List.of(place),
            "next",
            7,
            null),
        new Event.Opened(place, "sub", Map.of("sub.a", text), List.of("sub.b"), 7),
        new Event.Closed(place, "sub", List.of(new Write(Write.Verb.SET, "a", text)), text, 7),
        new Event.Broken(place, "enough", "__end__"),
        new Event.Stopped(place, Event.Resume.LEAVING, ErrorCode.DECISION_FAILED, "m", "d", 7),
        new Event.Retried(place),
        new Event.Skipped(place, false),
        new Event.Reset(
            List.of(new Event.Back(Place.parse("ask#2"), "ask", true)),
            Map.of("email", text),
            List.of(place),
            8,
            null),
        new Event.Migrated(
            1,
            3,
            "abc",
            Map.of("pay", "settle"),
            Map.of("mail", "email"),
            List.of(
                new Event.Rewrite(
                    "", "pay", place, List.of(new Write(Write.Verb.SET, "email", text)))),
            List.of(
                new Event.Carried(
                    place,
                    Place.parse("settle#1"),
                    true,
                    true,
                    8L,
                    new PlaceState.Reminder(1, 7L, 0))),
            8,
            List.of(new Event.Relocated("", "pay", "settle", "email"))),
        new Event.ForkedFrom(
            new ForkOrigin("quote", "run-0", 7, 6, ForkOrigin.Mode.REPLAY_EFFECTS, "ops"),
            List.of(
                new RecordedResult(
                    0,
                    1,
                    place,
                    "email",
                    Map.of("email", text),
                    List.of(new Event.Rejected(place, "email", "no")))),
            8),
        new Event.Undoing(place, 8),
        new Event.Undone(place),
        new Event.Ending(ErrorCode.STEP_FAILED, "m", List.of(place), 8),
        new Event.Failed(ErrorCode.STEP_FAILED, "m", 9),
        new Event.Completed(text, "enough", 9),
        new Event.Cancelled(10),
        new Event.Expired(10),
        new Event.Abandoned(11));
  }

  private static List<Entry<Event>> entries() {
    RunReply reply = new RunReply(Json.object(), Json.object().put("seq", 1), true);
    Entry.Origin origin = Entry.Origin.starting("ann", "s");
    Entry<Event> step = Entry.of(1, 1, origin, events());
    Entry<Event> end = Entry.of(3, 3, Entry.Origin.EFFECT, List.of());
    return List.of(
        step.belongingTo(List.of("call"), reply).waking(new Entry.Wake(5L)).asTask(),
        Entry.<Event>of(2, 2, Entry.Origin.TIMER, List.of()).waking(Entry.Wake.NOW),
        end.belongingTo(List.of("call"), reply)
            .ending(
                new RunEnd(
                    "run-1",
                    3,
                    RunState.Status.COMPLETED,
                    List.of("c1"),
                    new RunEnd.Unclaimed(Json.tree("r"), "enough"),
                    4,
                    5L,
                    false,
                    null)),
        end.ending(
            new RunEnd(
                "run-1", 3, RunState.Status.CANCELLED, List.of(), null, 4, null, false, null)),
        end.belongingTo(List.of("call"), reply)
            .ending(
                new RunEnd(
                    "run-2",
                    3,
                    RunState.Status.ABANDONED,
                    List.of(),
                    null,
                    4,
                    5L,
                    true,
                    List.of(new RunEnd.TaskEnd("run-1", RunState.Status.COMPLETED, reply, 3, 5)))));
  }

  @Test
  void whatAnEntryHoldsIsReadBackHoweverLongAndDeepItIs() throws IOException {
    Object deep = "x";
    for (int i = 0; i < 1_000; i++) {
      deep = List.of(deep);
    }
    String huge = "x".repeat(25_000_000);
    for (Object payload : List.of(deep, huge)) {
      Event event = new Event.Signalled("paid", Json.tree(payload), 4);
      Entry<Event> entry = Entry.of(1, 1, Entry.Origin.caller("ann"), List.of(event));
      String manifest = serializer.manifest(entry);
      byte[] written = serializer.toBinary(entry);
      assertThat(serializer.fromBinary(written, manifest).equals(entry)).isTrue();
      JsonNode exported = Lossless.parse(Lossless.text(Lossless.json(written)));
      byte[] imported = Lossless.payload(exported);
      assertThat(serializer.fromBinary(imported, manifest).equals(entry)).isTrue();
    }
  }

  @Test
  void everyKindOfEventIsInTheSample() {
    List<Class<?>> kinds = new ArrayList<>(List.of(Event.class.getPermittedSubclasses()));
    events().forEach(event -> kinds.remove(event.getClass()));
    assertThat(kinds).isEmpty();
  }

  @Test
  void anEntryIsReadBackAsItWasWritten() throws Exception {
    for (Entry<Event> entry : entries()) {
      Object read = serializer.fromBinary(serializer.toBinary(entry), serializer.manifest(entry));
      assertThat(Json.tree(read)).isEqualTo(Json.tree(entry));
    }
  }

  @Test
  void entriesOfTheFirstFormatAreRead() throws Exception {
    areRead(golden(), entries());
  }

  private void areRead(List<String> lines, List<Entry<Event>> entries) throws Exception {
    assertThat(lines).hasSameSizeAs(entries);
    for (int i = 0; i < lines.size(); i++) {
      String[] parts = lines.get(i).split(" ", 2);
      Object read = serializer.fromBinary(Base64.getDecoder().decode(parts[1]), parts[0]);
      assertThat(Json.tree(read)).isEqualTo(Json.tree(entries.get(i)));
    }
  }

  private static ObjectNode tree(Entry<Event> entry) throws IOException {
    return (ObjectNode) JournalSerializer.tree(JournalSerializer.cbor(entry));
  }

  private String refusal(JsonNode tree, String manifest) throws IOException {
    byte[] bytes = JournalSerializer.cbor(tree);
    Throwable refused = catchThrowable(() -> serializer.fromBinary(bytes, manifest));
    assertThat(refused).isInstanceOf(UnreadableEntry.class);
    return String.valueOf(refused.getMessage());
  }

  @Test
  void whatALaterReleaseWroteIsRefusedByName() throws Exception {
    ObjectNode step = tree(entries().get(0));
    assertThat(refusal(step, "run:2")).contains("run:2", "knows only run:1", "newer");
    assertThat(refusal(step, "dream:1")).contains("dream:1", "does not know", "newer");
    assertThat(refusal(step.deepCopy().put("mood", 1), "run:1")).contains("run:1", "mood", "newer");
    ((ObjectNode) step.path("events").get(0)).put("e", "teleported");
    assertThat(refusal(step, "run:1")).contains("run:1", "teleported", "newer");
  }

  @Test
  void whatIsBrokenIsRefusedWithoutSayingWhatItHolds() throws Exception {
    ObjectNode step = tree(entries().get(0)).put("at", "my secret");
    assertThat(refusal(step, "run:1")).contains("run:1", "at", "backup").doesNotContain("secret");
  }

  @Test
  void whatAnEarlierVersionWroteIsBroughtIntoThePresentFormOneVersionAfterTheOther()
      throws Exception {
    JournalFormats later =
        new JournalFormats(
            JournalSerializer.MAPPER,
            Map.of(
                "run:3",
                TypeFactory.defaultInstance().constructParametricType(Entry.class, Event.class)),
            Map.of(
                "run:1",
                Upcaster.ofEvents(
                    "run:2",
                    "rejected",
                    event -> {
                      event.set("message", event.remove("why"));
                      return event;
                    }),
                "run:2",
                new Upcaster("run:3", entry -> entry.put("task", false))));
    Entry<Event> now = entries().get(0);
    ObjectNode before = tree(now);
    for (JsonNode event : before.path("events")) {
      if (event.path("e").asText().equals("rejected")) {
        ((ObjectNode) event).set("why", ((ObjectNode) event).remove("message"));
      }
    }
    before.remove("task");
    byte[] bytes = JournalSerializer.cbor(before);

    Entry<?> read = (Entry<?>) later.read(bytes, "run:1");
    assertThat((Object) read.events()).isEqualTo(now.events());
    assertThat(read.task()).isFalse();
  }

  private List<String> golden() throws IOException {
    if (Golden.writes()) {
      Golden.write("journal-1.txt", String.join("\n", fresh()));
    }
    return Golden.read("journal-1.txt").lines().toList();
  }

  private List<String> fresh() {
    List<String> lines = new ArrayList<>();
    for (Entry<Event> entry : entries()) {
      byte[] bytes = JournalSerializer.cbor(entry);
      lines.add(serializer.manifest(entry) + " " + Base64.getEncoder().encodeToString(bytes));
    }
    return lines;
  }

  @Test
  void halfOfASurrogatePairDoesNotKeepAnEntryFromItsJournal() throws Exception {
    for (String before : List.of("a", "a".repeat(10_000))) {
      byte[] cbor = JournalSerializer.cbor(TextNode.valueOf(before + "\ud83d"));
      assertThat(JournalSerializer.tree(cbor).textValue()).isEqualTo(before + "\ufffd");
    }
  }
}
