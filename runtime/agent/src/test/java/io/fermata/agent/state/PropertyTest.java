package io.fermata.agent.state;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Conversation;
import io.fermata.agent.history.HistoryReader;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What holds of every thread of every agent, whatever people, tools, hooks or a crash do. */
@Tag("slow")
class PropertyTest {
  private static final int SEEDS = 120;

  /** What depends on when, and how often, something was tried. */
  private static final Set<String> CHANCE =
      Set.of(
          "createdAt", "at", "due", "attempt", "seq", "last", "retryAt", "until", "began", "ended");

  /** The seeds are the same in every build; to look further, begin with another, -Dseed=1000. */
  static void forEverySeed(int seeds, LongConsumer property) {
    long first = Long.getLong("seed", 0);
    LongStream.range(first, first + seeds)
        .forEach(
            seed -> {
              try {
                property.accept(seed);
              } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("with seed " + seed + ": " + e.getMessage(), e);
              }
            });
  }

  @Test
  void theInvariantsHoldWhateverHappens() {
    Set<Class<?>> seen = new HashSet<>();
    forEverySeed(
        SEEDS,
        seed -> {
          Conversation talk = new Walk(seed, false).order(new Random(seed)).end();
          invariants(talk);
          talk.events().forEach(event -> seen.add(event.getClass()));
        });
    assertThat(seen)
        .as("what happened")
        .contains(
            ThreadEvent.CallRemoved.class,
            ThreadEvent.HookFailed.class,
            ThreadEvent.HandedOver.class,
            ThreadEvent.Compacted.class,
            ThreadEvent.CallAnswered.class,
            ThreadEvent.ChildReported.class,
            ThreadEvent.EffectEnded.class,
            ThreadEvent.StepFailed.class,
            ThreadEvent.CallWithdrawn.class);
  }

  @Test
  void aThreadThatDiesDuringEveryEffectReachesTheSameEnd() {
    forEverySeed(
        SEEDS / 2,
        seed -> {
          Conversation whole = new Walk(seed, false).end();
          Conversation broken = new Walk(seed, false).dyingAlways().end();
          invariants(broken);
          same(broken, whole);
        });
  }

  @Test
  void aThreadThatDiesOnceAnywhereReachesTheSameEnd() {
    forEverySeed(
        SEEDS / 8,
        seed -> {
          Conversation whole = new Walk(seed, false).end();
          int records = whole.records();
          int from = new Random(seed).nextInt(7);
          for (int record = from; record < records; record += 7) {
            Conversation broken = new Walk(seed, false).dyingAfter(record).end();
            same(broken, whole);
          }
        });
  }

  @Test
  void callsSideBySideGiveTheSameHistoryInWhateverOrderTheyEnd() {
    forEverySeed(
        SEEDS / 2,
        seed -> {
          Conversation one = new Walk(seed, true).end();
          Conversation other = new Walk(seed, true).order(new Random(seed)).end();
          assertThat(transcript(other)).isEqualTo(transcript(one));
        });
  }

  @Test
  void everyThreadIsNarratedExplainedAndDrawnAsItStoodAfterEachEntry() {
    forEverySeed(
        SEEDS / 2,
        seed -> {
          Conversation talk = new Walk(seed, false).order(new Random(seed)).end();
          ThreadJournal journal = talk.recorded();
          String narrative = journal.narrativeWithSecrets();
          assertThat(narrative.lines().filter(line -> line.startsWith("entry ")))
              .hasSize(talk.records());
          assertThat(narrative).doesNotContain("\n  {");
          for (int entry = 1; entry <= talk.records(); entry++) {
            String stands = journal.upTo(entry).whyWithSecrets().text();
            String begin = stands.replaceAll(" [(]entry .*", "");
            assertThat(journal.upTo(entry).pictureWithSecrets().rows().toString())
                .contains(begin.substring(0, Math.min(50, begin.length())));
          }
          for (Message message : talk.everything()) {
            assertThat(journal.why(List.of(), message.id()).entry()).isPositive();
          }
        });
  }

  // --- what is compared ------------------------------------------------------------------------

  private static List<String> transcript(Conversation talk) {
    return talk.everything().stream()
        .map(message -> message.id() + " " + Conversation.line(message))
        .toList();
  }

  private static void same(Conversation broken, Conversation whole) {
    assertThat(transcript(broken)).isEqualTo(transcript(whole));
    JsonNode end = withoutChance(Conversation.JOURNAL.valueToTree(whole.state()));
    withoutChance(Conversation.JOURNAL.valueToTree(broken.state()))
        .properties()
        .forEach(
            field ->
                assertThat(field.getValue()).as(field.getKey()).isEqualTo(end.get(field.getKey())));
  }

  static JsonNode withoutChance(JsonNode tree) {
    if (tree instanceof ObjectNode object) {
      ObjectNode rest = Json.object();
      object
          .properties()
          .forEach(
              entry -> {
                if (!CHANCE.contains(entry.getKey())) {
                  rest.set(entry.getKey(), withoutChance(entry.getValue()));
                }
              });
      return rest;
    } else if (tree.isArray()) {
      var rest = Json.object().putArray("all");
      tree.forEach(item -> rest.add(withoutChance(item)));
      return rest;
    }
    return tree;
  }

  // --- invariants ------------------------------------------------------------------------------

  private static void invariants(Conversation talk) {
    List<Message> all = talk.everything();
    assertThat(all).extracting(Message::id).doesNotHaveDuplicates();
    assertThat(talk.allMessages()).extracting(Message::id).doesNotHaveDuplicates();
    timesRise(talk, all);
    everyCallHasItsResult(talk, all);
    assertThat(rewound(talk)).isEqualTo(shape(all));
    for (ThreadEvent.EffectBegan began : talk.events(ThreadEvent.EffectBegan.class)) {
      assertThat(talk.events(ThreadEvent.EffectEnded.class))
          .extracting(ThreadEvent.EffectEnded::id)
          .contains(began.id());
    }
    if (talk.wanted().isEmpty() && talk.state().open().isEmpty()) {
      assertThat(talk.state().frames()).isEmpty();
      assertThat(talk.state().waiting()).isEmpty();
      assertThat(talk.state().turn().running()).isFalse();
    }
  }

  private static void timesRise(Conversation talk, List<Message> all) {
    Set<String> inserted = new HashSet<>();
    talk.events(ThreadEvent.Said.class).stream()
        .filter(said -> said.before() != null)
        .forEach(said -> inserted.add(said.message().id()));
    assertThat(all)
        .filteredOn(message -> !inserted.contains(message.id()))
        .extracting(Message::createdAt)
        .isSorted()
        .doesNotHaveDuplicates();
  }

  private static void everyCallHasItsResult(Conversation talk, List<Message> all) {
    Map<String, Integer> results = new LinkedHashMap<>();
    for (int i = 0; i < all.size(); i++) {
      String call = all.get(i).toolCallId();
      if (call != null) {
        assertThat(results.put(call, i)).as("a second result of " + call).isNull();
      }
    }
    Set<String> open = new HashSet<>();
    talk.state().frames().values().stream()
        .map(StepFrame::calls)
        .flatMap(Collection::stream)
        .forEach(call -> open.add(call.call().id()));
    for (int i = 0; i < all.size(); i++) {
      int last = i;
      for (RequestedCall call : all.get(i).toolCalls()) {
        Integer place = results.remove(call.id());
        if (place == null) {
          assertThat(open).contains(call.id());
        } else {
          assertThat(place).as("the result of " + call.id()).isGreaterThan(last);
          last = place;
        }
      }
    }
    assertThat(results).as("results without a call").isEmpty();
  }

  /** The history as it is read back from the journal, from its end. */
  private static List<String> rewound(Conversation talk) {
    HistoryReader rewind = new HistoryReader(null, Integer.MAX_VALUE, 0);
    for (int record = talk.records(); record > 0; record--) {
      rewind.take(talk.record(record));
    }
    List<Message> found = new ArrayList<>(rewind.messages());
    Collections.reverse(found);
    return shape(found);
  }

  private static List<String> shape(List<Message> messages) {
    return messages.stream()
        .map(m -> m.id() + " " + Conversation.line(m) + " " + m.toolCallId() + " " + m.status())
        .toList();
  }
}
