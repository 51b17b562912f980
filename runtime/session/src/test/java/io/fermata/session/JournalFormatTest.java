package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.At;
import io.fermata.flow.ErrorCode;
import io.fermata.flow.Event;
import io.fermata.flow.Json;
import io.fermata.flow.Place;
import io.fermata.flow.RunState;
import io.fermata.flow.Write;
import io.fermata.session.JournalFormats.Upcaster;
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
            "email", "Email?", Json.object().put("type", "string"), List.of("a"), "c");
    Event.Widget widget = new Event.Widget("show", Json.object().put("n", 1), true, "plan", text);
    return List.of(
        new Event.Started("run-1", 3, "abc", "why", 1),
        new Event.Answered(Map.of("email", text), place, 2),
        new Event.Accepted(place, "email", text, Map.of("domain", text)),
        new Event.Rejected(place, "email", "no"),
        new Event.Asked(place, List.of(question), "all", new Event.Patience(8L, 7L), 3),
        new Event.Shown(place, widget, new Event.Patience(8L, 7L), 4),
        new Event.Slept(place, 5, 4),
        new Event.Awaited(place, "paid", new Event.Patience(8L, 7L), 4),
        new Event.Signalled("paid", text, 4),
        new Event.Received(place, "paid", "email", text),
        new Event.Woken(place, 5),
        new Event.Overdue(place, "late", 5),
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
        new Event.BranchFailed(inBranch, ErrorCode.STEP_FAILED, "m", 7),
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
        new Event.Stopped(place, Event.Resume.LEAVING, ErrorCode.DECISION_FAILED, "m", "d"),
        new Event.Retried(place),
        new Event.Skipped(place),
        new Event.Reset(
            List.of(new Event.Back(Place.parse("ask#2"), "ask", true)),
            Map.of("email", text),
            List.of(place),
            8),
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
                    place, Place.parse("settle#1"), true, true, 8L, new At.Reminder(1, 7, 0))),
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

  private static List<JournalRecord> records() {
    JournalRecord.Reply reply = new JournalRecord.Reply(Json.object(), Json.object().put("seq", 1));
    JournalRecord.Origin origin = new JournalRecord.Origin("ann", "s");
    return List.of(
        new JournalRecord.Step(1, origin, "call", reply, true, 5L, events()),
        new JournalRecord.Step(2, null, null, null, false, null, List.of()),
        new JournalRecord.Ended(
            3,
            "run-1",
            3,
            RunState.Status.COMPLETED,
            "call",
            reply,
            List.of("c1"),
            true,
            Json.tree("r"),
            "enough",
            4,
            5L,
            false,
            null),
        new JournalRecord.Ended(
            4,
            "run-1",
            3,
            RunState.Status.CANCELLED,
            null,
            null,
            List.of(),
            false,
            null,
            null,
            4,
            null,
            false,
            null));
  }

  /** The same with what came later. */
  private static List<JournalRecord> latest() {
    List<JournalRecord> all = new ArrayList<>(records());
    JournalRecord.Reply reply = new JournalRecord.Reply(Json.object(), Json.object().put("seq", 1));
    all.add(
        new JournalRecord.Ended(
            4,
            "run-2",
            3,
            RunState.Status.ABANDONED,
            "call",
            reply,
            List.of(),
            false,
            null,
            null,
            4,
            5L,
            true,
            List.of(new JournalRecord.TaskEnd("run-1", RunState.Status.COMPLETED, reply, 3, 5))));
    return all;
  }

  @Test
  void everyKindOfEventIsInTheSample() {
    List<Class<?>> kinds = new ArrayList<>(List.of(Event.class.getPermittedSubclasses()));
    events().forEach(event -> kinds.remove(event.getClass()));
    assertThat(kinds).isEmpty();
  }

  @Test
  void aRecordIsReadBackAsItWasWritten() throws Exception {
    for (JournalRecord entry : latest()) {
      Object read = serializer.fromBinary(serializer.toBinary(entry), serializer.manifest(entry));
      assertThat(Json.tree(read)).isEqualTo(Json.tree(entry));
    }
  }

  @Test
  void recordsOfTheFirstReleaseAreStillRead() throws Exception {
    areRead(Golden.read("journal-1.txt").lines().toList(), records());
  }

  @Test
  void recordsOfThePresentFormAreStillRead() throws Exception {
    areRead(golden(), latest());
  }

  private void areRead(List<String> lines, List<JournalRecord> records) throws Exception {
    assertThat(lines).hasSameSizeAs(records);
    for (int i = 0; i < lines.size(); i++) {
      String[] parts = lines.get(i).split(" ", 2);
      Object read = serializer.fromBinary(Base64.getDecoder().decode(parts[1]), parts[0]);
      assertThat(Json.tree(read)).isEqualTo(Json.tree(records.get(i)));
    }
  }

  private static ObjectNode tree(JournalRecord entry) {
    return JournalSerializer.MAPPER.valueToTree(entry);
  }

  private String refusal(JsonNode tree, String manifest) throws IOException {
    byte[] bytes = JournalSerializer.cbor(tree);
    Throwable refused = catchThrowable(() -> serializer.fromBinary(bytes, manifest));
    assertThat(refused).isInstanceOf(UnreadableRecord.class);
    return String.valueOf(refused.getMessage());
  }

  @Test
  void whatALaterReleaseWroteIsRefusedByName() throws Exception {
    ObjectNode step = tree(records().get(0));
    assertThat(refusal(step, "step:2")).contains("step:2", "knows only step:1", "newer");
    assertThat(refusal(step, "dream:1")).contains("dream:1", "does not know", "newer");
    assertThat(refusal(step.deepCopy().put("mood", 1), "step:1"))
        .contains("step:1", "mood", "newer");
    ((ObjectNode) step.path("events").get(0)).put("e", "teleported");
    assertThat(refusal(step, "step:1")).contains("step:1", "teleported", "newer");
  }

  @Test
  void whatIsBrokenIsRefusedWithoutSayingWhatItHolds() throws Exception {
    ObjectNode step = tree(records().get(0)).put("at", "my secret");
    assertThat(refusal(step, "step:1")).contains("step:1", "at", "backup").doesNotContain("secret");
  }

  @Test
  void whatAnEarlierVersionWroteIsBroughtIntoThePresentFormOneVersionAfterTheOther()
      throws Exception {
    JournalFormats later =
        new JournalFormats(
            Map.of("step:3", JournalRecord.Step.class),
            Map.of(
                "step:1",
                Upcaster.ofEvents(
                    "step:2",
                    "rejected",
                    event -> {
                      event.set("message", event.remove("why"));
                      return event;
                    }),
                "step:2",
                new Upcaster("step:3", entry -> entry.put("working", false))));
    JournalRecord.Step now = (JournalRecord.Step) records().get(0);
    ObjectNode before = tree(now);
    for (JsonNode event : before.path("events")) {
      if (event.path("e").asText().equals("rejected")) {
        ((ObjectNode) event).set("why", ((ObjectNode) event).remove("message"));
      }
    }
    before.remove("working");
    byte[] bytes = JournalSerializer.cbor(before);

    JournalRecord.Step read =
        (JournalRecord.Step) later.read(bytes, "step:1", JournalSerializer.MAPPER);
    assertThat(read.events()).isEqualTo(now.events());
    assertThat(read.working()).isFalse();
    assertThat(later.name(JournalRecord.Step.class)).isEqualTo("step:3");
  }

  private List<String> golden() throws IOException {
    if (Golden.writes()) {
      Golden.write("journal-2.txt", String.join("\n", fresh()));
    }
    return Golden.read("journal-2.txt").lines().toList();
  }

  private List<String> fresh() {
    List<String> lines = new ArrayList<>();
    for (JournalRecord entry : latest()) {
      byte[] bytes = JournalSerializer.cbor(entry);
      lines.add(serializer.manifest(entry) + " " + Base64.getEncoder().encodeToString(bytes));
    }
    return lines;
  }
}
