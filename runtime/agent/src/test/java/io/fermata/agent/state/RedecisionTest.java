package io.fermata.agent.state;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.Conversation;
import io.fermata.agent.RandomAgents;
import io.fermata.agent.engine.ThreadProgram;
import io.fermata.agent.engine.ThreadRedecision;
import io.fermata.flow.event.Program;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The present code decides a thread again: the same code the same, other code otherwise. */
@Tag("slow")
class RedecisionTest {
  private static final int SEEDS = 120;

  /** A thread that is cut off now and then. */
  private static Conversation walked(long seed, Agent... agents) {
    Walk walk = new Walk(seed, false, agents).order(new Random(seed));
    if (seed % 3 == 0) {
      walk.dyingAlways();
    } else if (seed % 3 == 1) {
      walk.dyingAfter(new Random(seed).nextInt(40));
    }
    return walk.end();
  }

  private static Conversation walked(long seed) {
    return walked(seed, new RandomAgents(seed, false).next());
  }

  @Test
  void whateverHappenedIsDecidedAgainAsItWas() {
    Set<Class<?>> seen = new HashSet<>();
    Set<String> stops = new HashSet<>();
    Map<String, Integer> compared = new TreeMap<>();
    PropertyTest.forEverySeed(
        SEEDS,
        seed -> {
          Conversation talk = walked(seed);
          ThreadRedecision again =
              new ThreadRedecision(
                  new Agents(List.of(new RandomAgents(seed, false).next())), recordsOf(talk));
          ThreadState folded = ThreadState.NONE;
          for (int i = 1; i <= talk.records(); i++) {
            assertThat(again.decide(i, talk.cause(i).at(), talk.record(i)))
                .as("entry %d, %s", i, talk.cause(i).input())
                .isNull();
            assertThat(again.request()).as("what was asked in entry %d", i).isNull();
            folded = folded.apply(talk.record(i), i);
            assertThat(again.state()).isEqualTo(folded);
          }
          talk.events().forEach(event -> seen.add(event.getClass()));
          talk.events(ThreadEvent.StepEnded.class).stream()
              .map(ended -> Objects.requireNonNull(ended.log().asked()))
              .forEach(
                  request -> known(request).forEach(part -> compared.merge(part, 1, Integer::sum)));
          talk.events(ThreadEvent.Stopped.class).forEach(stopped -> stops.add(stopped.code()));
        });
    assertThat(stops).contains(StopCode.BUDGET_SPENT, StopCode.HOOK_BLOCKED, StopCode.STOP_TOOL);
    int steps = compared.getOrDefault("steps", 0);
    assertThat(compared.getOrDefault("instructions", 0))
        .as("steps whose instructions are compared")
        .isBetween(steps / 2, steps - 1);
    assertThat(compared.getOrDefault("messages", 0))
        .as("steps whose messages are compared")
        .isBetween(steps / 2, steps - 1);
    assertThat(seen)
        .as("what happened")
        .contains(
            ThreadEvent.CallRemoved.class,
            ThreadEvent.HookFailed.class,
            ThreadEvent.HandedOver.class,
            ThreadEvent.Compacted.class,
            ThreadEvent.CallAnswered.class,
            ThreadEvent.ChildReported.class,
            ThreadEvent.ModelReplied.class,
            ThreadEvent.ToolReturned.class,
            ThreadEvent.StepFailed.class);
  }

  private static List<String> known(RequestDigest request) {
    List<String> parts = new ArrayList<>(List.of("steps"));
    if (request.instructions() != null) {
      parts.add("instructions");
    }
    if (request.messages() != null) {
      parts.add("messages");
    }
    return parts;
  }

  @Test
  void codeThatChangedDivergesWhereItsOutcomeFirstDiffersAndNowhereBefore() {
    AtomicInteger diverged = new AtomicInteger();
    AtomicInteger asked = new AtomicInteger();
    PropertyTest.forEverySeed(
        SEEDS,
        seed -> {
          RandomAgents usual = new RandomAgents(seed, false);
          Conversation talk = walked(seed, usual.next());
          int mutated = new Random(seed).nextInt(usual.pieces());
          Agents changed =
              new Agents(List.of(new RandomAgents(seed, false).mutating(mutated).next()));

          int expected = firstDifference(new ThreadProgram(changed), talk);

          assertThat(divergence(changed, talk)).as("diverges in entry").isEqualTo(expected);
          diverged.addAndGet(expected <= talk.records() ? 1 : 0);
          asked.addAndGet(asksOtherwise(changed, talk) ? 1 : 0);
        });
    assertThat(asked.get()).as("mutations of what is asked").isGreaterThan(SEEDS / 8);
    assertThat(diverged.get()).as("mutations that made a difference").isGreaterThan(SEEDS / 8);
  }

  private static EarlierEntries recordsOf(Conversation talk) {
    NavigableMap<Long, List<ThreadEvent>> records = new TreeMap<>();
    for (int i = 1; i <= talk.records(); i++) {
      records.put((long) i, talk.record(i));
    }
    return EarlierEntries.of(records);
  }

  private static int divergence(Agents agents, Conversation talk) {
    ThreadRedecision again = new ThreadRedecision(agents, recordsOf(talk));
    int i = 1;
    while (i <= talk.records()
        && again.decide(i, talk.cause(i).at(), talk.record(i)) == null
        && again.request() == null) {
      i++;
    }
    return i;
  }

  private static boolean asksOtherwise(Agents agents, Conversation talk) {
    ThreadRedecision again = new ThreadRedecision(agents, recordsOf(talk));
    boolean otherwise = false;
    for (int i = 1; i <= talk.records() && !otherwise; i++) {
      if (again.decide(i, talk.cause(i).at(), talk.record(i)) != null) {
        return again.request() != null;
      }
      otherwise = again.request() != null;
    }
    return otherwise;
  }

  /** The first entry of which the agents make something else when they get the very same input. */
  private static int firstDifference(ThreadProgram program, Conversation talk) {
    ThreadState before = ThreadState.NONE;
    for (int i = 1; i <= talk.records(); i++) {
      Conversation.Cause cause = talk.cause(i);
      ThreadInput input = cause.input();
      if (input instanceof ThreadInput.EffectEnded ended && cause.seen() != null) {
        input =
            new ThreadInput.EffectEnded(
                ended.effect(), result(program, talk, cause, ended), ended.at());
      }
      Program.Acceptance<ThreadState, ThreadEvent> now = program.accept(before, input);
      List<ThreadEvent> events =
          now instanceof Program.Accepted<ThreadState, ThreadEvent> accepted
              ? accepted.events()
              : List.of();
      if (!described(talk.record(i)).equals(described(events))) {
        return i;
      }
      before = before.apply(talk.record(i), i);
    }
    return talk.records() + 1;
  }

  private static List<JsonNode> described(List<ThreadEvent> events) {
    return events.stream()
        .map(event -> Conversation.JOURNAL.<JsonNode>valueToTree(event))
        .map(PropertyTest::withoutChance)
        .toList();
  }

  /** What author code makes of the same reply; its tools return the same anyway. */
  private static ThreadInput.Result result(
      ThreadProgram program,
      Conversation talk,
      Conversation.Cause cause,
      ThreadInput.EffectEnded ended) {
    return switch (ended.effect().kind()) {
      case STEP, CALL, RECEIVE, GREET, STORE ->
          program
              .perform(
                  Objects.requireNonNull(cause.seen()), ended.effect(), talk.world().again(cause))
              .toCompletableFuture()
              .join();
      default -> ended.result();
    };
  }
}
