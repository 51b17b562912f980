package io.fermata.flow;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What holds of every run of every flow, whatever a client, a handler or a crash does. */
class PropertyTest {
  private static final int SEEDS = 400;
  private static final Limits LIMITS = new Limits(4_000, 60, 25, 8);

  private static void forEverySeed(LongConsumer property) {
    LongStream.concat(LongStream.range(0, SEEDS), LongStream.of(System.nanoTime()))
        .forEach(
            seed -> {
              try {
                property.accept(seed);
              } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("with seed " + seed + ": " + e.getMessage(), e);
              }
            });
  }

  // --- anything may happen --------------------------------------------------------------------

  @Test
  void theInvariantsHoldWhateverHappens() {
    forEverySeed(
        seed -> {
          Random random = new Random(seed);
          RandomFlows flows = new RandomFlows(random, true, () -> random.nextInt(6) == 0);
          new Walk(random, flows, new Driver(flows.next(), LIMITS)).take(40);
        });
  }

  /** One client, one host and much bad luck. */
  private record Walk(Random random, RandomFlows flows, Driver run) {
    void take(int steps) {
      for (int i = 0; i < steps; i++) {
        int before = run.journal.size();
        step();
        if (run.journal.size() > before && random.nextInt(8) == 0) {
          run.crash(before + random.nextInt(run.journal.size() - before + 1));
          run.recover();
        }
        check();
      }
    }

    private void step() {
      if (run.state.running()
          && run.program.next(run.state) instanceof Program.Perform
          && random.nextInt(5) > 0) {
        effect();
        return;
      }
      run.feed(call());
    }

    private void effect() {
      Effect effect = run.pendingEffect();
      Long due = effect.due();
      if (due != null) {
        run.feed(new Input.EffectDue(effect, due));
        return;
      }
      assertThat(run.events(Event.Attempted.class))
          .as("an effect begins only after the journal says so")
          .anyMatch(
              e ->
                  new Effect(
                          run.state.runId(),
                          e.place(),
                          e.field() == null ? Effect.Kind.ACT : Effect.Kind.CHECK,
                          e.field(),
                          e.attempt(),
                          null,
                          effect.policy())
                      .equals(effect));
      Input.Result result =
          random.nextInt(8) == 0 ? run.program.timedOut(effect) : run.result(effect);
      Input ended = new Input.EffectEnded(effect, result, run.now++);
      run.feed(ended);
      if (random.nextInt(4) == 0) {
        run.feed(ended);
      }
    }

    private Input call() {
      long now = run.now++;
      return switch (random.nextInt(14)) {
        case 0 -> new Input.Reset(some(), now);
        case 1, 2 -> new Input.Continue(Json.object(), now);
        case 3, 4 -> new Input.Continue(some(), now);
        case 5 ->
            new Input.Resolve(
                random.nextBoolean() ? Input.Resolution.RETRY : Input.Resolution.SKIP, now);
        case 6 -> random.nextInt(5) == 0 ? new Input.Cancel(now) : new Input.Continue(some(), now);
        default ->
            run.state.running()
                ? new Input.Continue(openAnswers(), now)
                : new Input.Start("run " + now, "to test", some(), now);
      };
    }

    private ObjectNode some() {
      ObjectNode values = Json.object();
      for (String field : RandomFlows.FIELDS) {
        if (random.nextInt(3) == 0) {
          values.set(field, Json.tree(value(field)));
        }
      }
      return values;
    }

    private ObjectNode openAnswers() {
      ObjectNode values = Json.object();
      for (String field : Driver.asked(run.program.open(run.state))) {
        values.set(field, Json.tree(value(field)));
      }
      return values;
    }

    private Object value(String field) {
      if (random.nextInt(20) == 0) {
        return List.of("wrong");
      }
      return switch (field) {
        case "number" -> random.nextInt(3);
        case "flag" -> random.nextBoolean();
        default -> List.of("x", "y", "z", "bad", "").get(random.nextInt(5));
      };
    }

    private void check() {
      RunState folded = flows.withoutAuthor(() -> Driver.fold(run.journal));
      assertThat(folded).as("the fold of the journal").isEqualTo(run.state);
      Program.Next next = flows.withoutAuthor(() -> run.program.next(run.state));
      if (next instanceof Program.Pause pause) {
        assertThat(fieldsHere()).containsAll(Driver.asked(pause.outcome()));
      }
      run.state
          .branches()
          .values()
          .forEach(b -> assertThat(b.memory().bytes()).isEqualTo(Sizes.of(b.memory().data())));
      new JournalCheck().read(run.journal);
    }

    private Set<String> fieldsHere() {
      Set<String> fields = new HashSet<>();
      for (Place place : run.state.places().keySet()) {
        Node<?> node = run.program.flow().nodes().get(place.node());
        fields.addAll(node == null ? List.of() : node.fields());
      }
      return fields;
    }
  }

  /** Reads a journal from its beginning and refuses what no run may do. */
  private static final class JournalCheck {
    private final Set<Place> committed = new HashSet<>();
    private final Map<String, Integer> visits = new HashMap<>();

    /** For each node the answers that came since it was last left; absent before that. */
    private final Map<String, Set<String>> sinceLeft = new HashMap<>();

    void read(List<Event> journal) {
      journal.forEach(this::read);
    }

    private void read(Event event) {
      if (event instanceof Event.Started) {
        committed.clear();
        visits.clear();
        sinceLeft.clear();
      } else if (event instanceof Event.Answered e) {
        sinceLeft.values().forEach(fields -> fields.addAll(e.values().keySet()));
      } else if (event instanceof Event.Accepted e) {
        Set<String> given = sinceLeft.get(e.place().node());
        assertThat(given == null || given.contains(e.field()))
            .as("the answer accepted by " + e + " was given in this pass")
            .isTrue();
      } else if (event instanceof Event.Attempted e) {
        assertThat(committed).as("a step that has committed").doesNotContain(e.place());
      } else if (event instanceof Event.Committed e) {
        committed.add(e.place());
      } else if (event instanceof Event.Moved e) {
        sinceLeft.put(e.from().node(), new HashSet<>());
        entered(e.to());
      } else if (event instanceof Event.Reset e) {
        sinceLeft.clear();
        e.to().forEach(back -> entered(back.place()));
      }
    }

    private void entered(Place place) {
      Integer before = visits.put(place.node(), place.visit());
      assertThat(place.visit()).as("visit of " + place).isGreaterThan(before == null ? 0 : before);
    }
  }

  // --- a crash changes nothing ----------------------------------------------------------------

  @Test
  void aCrashAtAnyMomentChangesNothingInTheEnd() {
    int[] compared = {0};
    forEverySeed(
        seed -> {
          RandomFlows flows = new RandomFlows(new Random(seed), false, () -> false);
          Flow<RandomFlows.Data> flow = flows.next();
          Driver whole = new Driver(flow, LIMITS);
          whole.start();
          if (!converse(whole)) {
            return;
          }
          for (int boundary = 1; boundary < whole.journal.size(); boundary++) {
            Driver broken = new Driver(flow, LIMITS);
            broken.journal.addAll(whole.journal);
            broken.now = whole.now;
            broken.crash(boundary);
            broken.recover();
            broken.settle();
            assertThat(converse(broken)).as("completes after event " + boundary).isTrue();
            assertThat(broken.state.data())
                .as("after a crash at event " + boundary)
                .isEqualTo(whole.state.data());
            compared[0]++;
          }
        });
    assertThat(compared[0]).isGreaterThan(1_000);
  }

  /** Answers each pause by what it asks and in which visit, until the run completes. */
  private static boolean converse(Driver run) {
    for (int call = 0; call < 40 && run.state.running(); call++) {
      ObjectNode answers = Json.object();
      for (String field : Driver.asked(run.program.open(run.state))) {
        int visit = run.state.places().keySet().iterator().next().visit();
        answers.set(
            field,
            switch (field) {
              case "number" -> Json.tree(visit);
              case "flag" -> Json.tree(visit % 2 == 0);
              default -> Json.tree(field + visit);
            });
      }
      run.call(new Input.Continue(answers, run.now++));
    }
    return run.state.status() == RunState.Status.COMPLETED;
  }
}
