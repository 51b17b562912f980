package io.fermata.flow;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** Makes random flows whose code notices when it runs although it must not. */
final class RandomFlows {
  static final List<String> FIELDS = List.of("a", "b", "part.c", "number", "flag");

  record Part(String c) {}

  record Data(
      String a, String b, Part part, Integer number, Boolean flag, @Computed List<String> log) {}

  private final Random random;

  /** Whether the next effect fails. */
  private final Supplier<Boolean> failure;

  private final boolean once;
  private boolean forbidden;

  RandomFlows(Random random, boolean once, Supplier<Boolean> failure) {
    this.random = random;
    this.once = once;
    this.failure = failure;
  }

  /** Runs something during which no code of an author may run. */
  <T> T withoutAuthor(Supplier<T> work) {
    forbidden = true;
    try {
      return work.get();
    } finally {
      forbidden = false;
    }
  }

  private <T> T own(T value) {
    assertThat(forbidden).as("an author's code runs").isFalse();
    return value;
  }

  /** The next flow that compiles. */
  Flow<Data> next() {
    while (true) {
      try {
        return graph().compile();
      } catch (InvalidFlowException e) {
        assertThat(e.defects()).isNotEmpty();
      }
    }
  }

  private FlowBuilder<Data> graph() {
    FlowBuilder<Data> flow =
        Flow.of("random", Data.class).description("Is random.").result(this::own);
    int size = 2 + random.nextInt(5);
    flow.edge(START, "n0");
    for (int i = 0; i < size; i++) {
      String node = "n" + i;
      node(flow, node);
      String onward = i + 1 < size ? "n" + (i + 1) : END;
      if (random.nextInt(3) == 0) {
        flow.edge(node, onward);
      } else {
        decide(flow, node, "n" + random.nextInt(size), onward);
      }
    }
    return flow;
  }

  private void decide(FlowBuilder<Data> flow, String node, String elsewhere, String onward) {
    int modulo = 2 + random.nextInt(2);
    Condition condition = condition(node);
    boolean byFunction = random.nextBoolean();
    flow.decide(
        node,
        d ->
            (byFunction
                    ? d.when("elsewhere", data -> own(hash(data)) % modulo == 0)
                    : d.when(condition))
                .to(elsewhere)
                .otherwise(onward));
  }

  private static int hash(Reads data) {
    return Objects.hash(
        data.text("a"),
        data.value("part", Part.class),
        data.integer("number"),
        data.flag("flag"),
        data.value("log", JsonNode.class));
  }

  private Condition condition(String node) {
    return switch (random.nextInt(4)) {
      case 0 -> Condition.and(Condition.exists("a"), Condition.ne("a", Condition.field("b")));
      case 1 -> Condition.or(Condition.gt("number", 1), Condition.eq("flag", true));
      case 2 -> Condition.visits(node).lt(3);
      default -> Condition.not(Condition.matches("part.c", "[a-y]*"));
    };
  }

  private void node(FlowBuilder<Data> flow, String node) {
    switch (random.nextInt(5)) {
      case 0, 1 -> ask(flow, node);
      case 2 -> {
        String field = random.nextBoolean() ? FIELDS.get(random.nextInt(FIELDS.size())) : null;
        flow.widget(
            node,
            w -> {
              w.data(data -> own(Map.of("log", String.valueOf(data.log()))));
              if (field != null) {
                w.field(field);
              }
            });
      }
      default -> act(flow, node);
    }
  }

  private void ask(FlowBuilder<Data> flow, String node) {
    List<String> fields = new ArrayList<>(FIELDS);
    Collections.shuffle(fields, random);
    int size = 1 + random.nextInt(3);
    flow.ask(
        node,
        q -> {
          for (String field : fields.subList(0, size)) {
            int check = random.nextInt(3);
            q.question(field, data -> own(field + "?"), o -> check(o, check));
          }
        });
  }

  private void check(QuestionOptions<Data> options, int kind) {
    if (kind == 0) {
      options.validate((Object answer) -> own(verdict(answer)));
    } else if (kind == 1) {
      options.validateAsync(
          (Object answer) -> {
            failSometimes();
            return CompletableFuture.completedStage(own(verdict(answer)));
          });
    }
  }

  private static Verdict verdict(Object answer) {
    if (answer.equals("bad")) {
      return Verdict.reject("Bad.");
    }
    return answer instanceof String text && text.length() < 4
        ? Verdict.accept(text + "!")
        : Verdict.accept();
  }

  private void act(FlowBuilder<Data> flow, String node) {
    int policy = random.nextInt(4);
    flow.act(
        node,
        run -> {
          failSometimes();
          run.append("log", own(node + run.state().a()));
        },
        o -> {
          if (policy == 0 && once) {
            o.once();
          } else if (policy == 1) {
            o.retry(2, Duration.ofSeconds(1));
          } else if (policy == 2) {
            o.idempotent();
          }
        });
  }

  private void failSometimes() {
    if (failure.get()) {
      throw new StepException("Fails.");
    }
  }
}
