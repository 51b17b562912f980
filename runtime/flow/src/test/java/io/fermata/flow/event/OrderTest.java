package io.fermata.flow.event;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.RandomFlows;
import io.fermata.flow.engine.PropertyTest;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.seeds.Seeds;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The order in which things happen outside, in which nobody must have to trust. */
@Tag("slow")
public class OrderTest {
  private static final int SEEDS = Seeds.of(200);
  public static final Limits LIMITS = new Limits(64 * 1024, 5_000, 5_000, 8);

  public static RandomFlows flows(long seed, boolean races, boolean optional) {
    return new RandomFlows(
        new Random(seed), new RandomFlows.Taste(races, true, optional, Bystanders::fails));
  }

  public static Bystanders inDeclaredOrder(Flow<?> flow) {
    Bystanders all = new Bystanders(new Driver(flow, LIMITS));
    all.start(Json.object());
    all.last(OrderTest::asDeclared);
    return all;
  }

  public static List<Bystanders.Move> asDeclared(List<Bystanders.Move> possible) {
    return List.of(possible.get(0));
  }

  @Test
  void whereAJoinWaitsForAllTheOrderOfWhatHappensChangesNothing() {
    int[] forked = {0};
    PropertyTest.forEverySeed(
        SEEDS,
        seed -> {
          Flow<?> flow = flows(seed, false, false).next();
          Bystanders inOrder = inDeclaredOrder(flow);
          forked[0] += inOrder.run.events(Event.Forked.class).size();
          for (int run = 0; run < 4; run++) {
            Random random = new Random(31 * seed + run);
            Early early = new Early(inOrder.run.journal, random);
            Bystanders all = new Bystanders(new Driver(flow, LIMITS));
            all.start(early.some());
            Bystanders.End end =
                all.last(
                    possible -> {
                      early.sometimes(all.run);
                      return any(possible, random);
                    });
            assertThat(end).as("order %s", run).isEqualTo(inOrder.end());
          }
        });
    assertThat(forked[0]).isGreaterThan(SEEDS / 2);
  }

  @Test
  void whereAJoinWaitsForSomeTheEndIsThatOfTheOrderInWhichTheyArrived() {
    int[] raced = {0};
    PropertyTest.forEverySeed(
        SEEDS,
        seed -> {
          Flow<?> flow = flows(seed, true, false).next();
          for (int run = 0; run < 3; run++) {
            Random random = new Random(31 * seed + run);
            Bystanders all = new Bystanders(new Driver(flow, LIMITS));
            all.start(Json.object());
            Bystanders.End end = all.last(possible -> any(possible, random));
            raced[0] += raced(all.run.journal) ? 1 : 0;
            Ranking ranking = new Ranking(all.run.journal);
            Bystanders inOrder = new Bystanders(new Driver(flow, LIMITS));
            inOrder.start(Json.object());
            assertThat(inOrder.last(possible -> List.of(ranking.first(possible))))
                .as("order %s", run)
                .isEqualTo(end);
          }
        });
    assertThat(raced[0]).isGreaterThan(SEEDS / 2);
  }

  /** Whether branches were left behind, by a join or by an early end. */
  public static boolean raced(List<Event> journal) {
    return journal.stream()
        .anyMatch(event -> event instanceof Event.Joined joined && !joined.dropped().isEmpty());
  }

  public static List<Bystanders.Move> any(List<Bystanders.Move> possible, Random random) {
    if (random.nextInt(4) > 0) {
      return List.of(possible.get(random.nextInt(possible.size())));
    }
    return possible.stream()
            .filter(move -> move.kind() == Bystanders.Kind.ANSWER)
            .toList()
            .isEmpty()
        ? possible
        : possible.stream().filter(move -> move.kind() == Bystanders.Kind.ANSWER).toList();
  }

  /** What a client knows before it is asked, since it has seen the same run before. */
  static final class Early {
    private final Map<String, JsonNode> answers = new LinkedHashMap<>();
    private final List<String> dropped = new ArrayList<>();
    private final Random random;

    Early(List<Event> journal, Random random) {
      this.random = random;
      Set<String> seen = new HashSet<>();
      for (Event event : journal) {
        if (event instanceof Event.Joined joined) {
          joined.dropped().forEach(label -> dropped.add(joined.place().branch(label)));
        }
      }
      for (Event event : journal) {
        if (event instanceof Event.Asked asked) {
          asked.questions().forEach(q -> asked(seen, asked.place(), q.field(), asked.limits()));
        } else if (event instanceof Event.Accepted accepted) {
          seen.add(accepted.field());
        } else if (event instanceof Event.Shown shown && shown.widget().field() != null) {
          asked(seen, shown.place(), shown.widget().field(), shown.limits());
        }
      }
    }

    private void asked(
        Set<String> seen, Place place, String field, Event.@Nullable WaitLimits limits) {
      PlaceState at = PlaceState.entered(0).waiting(limits);
      boolean kept = dropped.stream().noneMatch(name -> Place.within(place.branch(), name));
      if (kept && seen.add(field) && !Bystanders.neglected(place, at)) {
        answers.put(field, Bystanders.answer(place, field));
      }
    }

    ObjectNode some() {
      ObjectNode some = Json.object();
      for (Map.Entry<String, JsonNode> answer : List.copyOf(answers.entrySet())) {
        if (random.nextInt(4) == 0) {
          some.set(answer.getKey(), answer.getValue());
          answers.remove(answer.getKey());
        }
      }
      return some;
    }

    /** Says something ahead of its question. */
    void sometimes(Driver run) {
      if (random.nextInt(6) == 0) {
        run.events(Event.Asked.class)
            .forEach(e -> e.questions().forEach(q -> answers.remove(q.field())));
        run.events(Event.Shown.class).forEach(e -> answers.remove(e.widget().field()));
        run.feed(new Input.Continue(some(), run.now++));
      }
    }
  }

  /** Which branch goes before which: as they arrived, and the others as they were declared. */
  public static final class Ranking {
    private final Map<Place, List<String>> ranks = new HashMap<>();

    public Ranking(List<Event> journal) {
      Place stopped = null;
      for (Event event : journal) {
        if (event instanceof Event.Committed e && e.ends() != null) {
          ended(e.place());
        } else if (event instanceof Event.Arrived e) {
          arrived(e.place());
        } else if (event instanceof Event.BranchFailed e && stopped != null) {
          path(stopped)
              .forEach(
                  (fork, label) -> {
                    if (Place.within(fork.branch(label), e.place().branch())) {
                      arrived(fork, label);
                    }
                  });
        } else if (event instanceof Event.Joined e) {
          e.merged().forEach(label -> arrived(e.place(), label));
        } else if (event instanceof Event.Stopped e) {
          stopped = e.place();
        } else if (event instanceof Event.Ending && stopped != null) {
          path(stopped).forEach((fork, label) -> ranked(fork).add(0, label));
        }
      }
      for (Event event : journal) {
        if (event instanceof Event.Forked e) {
          e.heads().forEach(head -> arrived(e.place(), head.label()));
        }
      }
    }

    private List<String> ranked(Place fork) {
      return ranks.computeIfAbsent(fork, p -> new ArrayList<>());
    }

    private void arrived(Place place) {
      Place fork = Place.forkOf(place.branch());
      if (fork != null) {
        arrived(fork, Place.labelOf(place.branch()));
      }
    }

    private void arrived(Place fork, String label) {
      if (!ranked(fork).contains(label)) {
        ranked(fork).add(label);
      }
    }

    /** An early end is that of all the branches of its flow. */
    private void ended(Place place) {
      path(place)
          .forEach(
              (fork, label) -> {
                if (flow(fork).equals(flow(place))) {
                  arrived(fork, label);
                }
              });
    }

    private static String flow(Place place) {
      return place.node().substring(0, place.node().lastIndexOf('/') + 1);
    }

    /** The forks that led to a place, the outermost first, each with the branch taken. */
    private static Map<Place, String> path(Place place) {
      List<Map.Entry<Place, String>> path = new ArrayList<>();
      String branch = place.branch();
      for (Place fork = Place.forkOf(branch); fork != null; fork = Place.forkOf(branch)) {
        path.add(0, Map.entry(fork, Place.labelOf(branch)));
        branch = fork.branch();
      }
      Map<Place, String> forks = new LinkedHashMap<>();
      path.forEach(step -> forks.put(step.getKey(), step.getValue()));
      return forks;
    }

    private List<Integer> rank(Place place) {
      return path(place).entrySet().stream()
          .map(step -> ranks.getOrDefault(step.getKey(), List.of()).indexOf(step.getValue()))
          .toList();
    }

    public Bystanders.Move first(List<Bystanders.Move> possible) {
      return possible.stream()
          .min(Comparator.comparing(move -> rank(move.place()), Ranking::compare))
          .orElseThrow();
    }

    private static int compare(List<Integer> left, List<Integer> right) {
      for (int i = 0; i < Math.min(left.size(), right.size()); i++) {
        if (!left.get(i).equals(right.get(i))) {
          return left.get(i) - right.get(i);
        }
      }
      return 0;
    }
  }
}
