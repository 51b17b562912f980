package io.fermata.agent.state;

import io.fermata.agent.Agent;
import io.fermata.agent.Conversation;
import io.fermata.agent.RandomAgents;
import io.fermata.agent.World;
import io.fermata.agent.engine.Outside;
import io.fermata.agent.message.Message;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;

/**
 * Leads a thread from its creation to its rest: messages come and it is stopped after so many
 * effects, questions are answered and children report when nothing else goes on.
 */
final class Walk {
  private static final int MOST = 400;

  private final Conversation talk;
  private final Map<Integer, Runnable> inputs = new LinkedHashMap<>();
  private final List<Runnable> later = new ArrayList<>();
  private final boolean stubborn;
  private boolean stopsWhenAsked;
  private boolean dyingAlways;
  private int dyingAfter = Integer.MAX_VALUE;
  private int answers;
  private int reports;

  Walk(long seed, boolean quiet) {
    this(seed, quiet, new RandomAgents(seed, quiet).next());
  }

  Walk(long seed, boolean quiet, Agent... agents) {
    talk = Conversation.of(agents);
    Random random = new Random(seed * 31);
    talk.world().flow =
        arguments ->
            Math.floorMod(arguments.toString().hashCode(), 3) == 0
                ? World.result("flowed")
                : new Outside.FlowOutcome.Asking(Json.object().put("field", "x"));
    talk.world().flowAnswer = given -> World.result("answered " + given);
    stubborn = random.nextInt(4) == 0;
    for (int i = 0; i < 2 + random.nextInt(3); i++) {
      String text = "hi " + random.nextInt(50);
      Runnable post = () -> talk.post(text, Message.user(text));
      if (quiet || random.nextInt(3) == 0) {
        later.add(post);
      } else {
        inputs.put(random.nextInt(15), post);
      }
    }
    if (!quiet && random.nextInt(5) == 0) {
      inputs.put(random.nextInt(15), this::stop);
    }
    stopsWhenAsked = !quiet && random.nextInt(4) == 0;
  }

  Walk order(Random random) {
    talk.order(ready -> ready.get(random.nextInt(ready.size())));
    return this;
  }

  /** It dies before the end of every effect reaches it. */
  Walk dyingAlways() {
    dyingAlways = true;
    return this;
  }

  Walk dyingAfter(int record) {
    dyingAfter = record;
    return this;
  }

  Conversation end() {
    talk.create();
    for (int i = 0; i < MOST; i++) {
      Runnable input = inputs.remove(i);
      if (input != null) {
        input.run();
        die();
      }
      if (!talk.ready().isEmpty()) {
        act();
      } else if (!idle()) {
        break;
      }
      die();
    }
    return talk;
  }

  private void act() {
    if (dyingAlways) {
      talk.outcome(talk.ready().get(0));
      talk.crash();
    }
    talk.step();
  }

  private void die() {
    if (talk.records() >= dyingAfter) {
      dyingAfter = Integer.MAX_VALUE;
      talk.crash();
    }
  }

  private void stop() {
    talk.stop();
    later.add(() -> talk.post("go on"));
  }

  /** What happens when the thread does nothing by itself; false if nothing does. */
  private boolean idle() {
    if (!talk.state().open().isEmpty() && stopsWhenAsked) {
      stopsWhenAsked = false;
      stop();
      return true;
    } else if (!talk.state().open().isEmpty()) {
      answer(talk.state().open().get(0));
      return true;
    }
    for (StepFrame frame : talk.state().frames().values()) {
      for (CallState call : frame.calls()) {
        String child = call.phase() == CallState.Phase.DELEGATED ? call.child() : null;
        if (child != null) {
          boolean failed = ++reports % 3 == 0;
          String text = "report " + reports;
          if (reports % 4 == 0) {
            talk.reportAndGoOn(child, reports, failed, text);
          } else {
            talk.report(child, reports, failed, text);
          }
          return true;
        }
      }
    }
    if (!inputs.isEmpty()) {
      inputs.remove(inputs.keySet().iterator().next()).run();
      return true;
    } else if (!later.isEmpty()) {
      later.remove(0).run();
      return true;
    }
    ThreadEffect timer =
        talk.wanted().stream()
            .min(Comparator.comparingLong(effect -> Objects.requireNonNull(effect.due())))
            .orElse(null);
    if (timer != null) {
      talk.accept(new ThreadInput.EffectDue(timer, Objects.requireNonNull(timer.due())));
    }
    return timer != null;
  }

  private void answer(CallState call) {
    String id = "a" + ++answers;
    if (call.phase() == CallState.Phase.APPROVING) {
      talk.accept(
          new ThreadInput.Answer(call.key(), null, id, !stubborn, null, "so", "ann", talk.now()));
    } else {
      talk.answer(call.key(), id, Json.object().put("x", answers));
    }
  }
}
