package io.fermata.agent.replay;

import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.Offered;
import io.fermata.agent.Prompt;
import io.fermata.agent.state.RequestDigest;
import io.fermata.agent.state.StepFrame;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.JournalCheck;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Which parts of a request differ.
 *
 * @param frame the step that asks
 * @param tools the names of the tools that are offered now
 */
record OtherRequest(
    RequestDigest recorded, RequestDigest now, @Nullable StepFrame frame, List<String> tools) {

  /**
   * The parts of a step's request that the present code makes otherwise.
   *
   * @param difference where the step ends
   */
  static OtherRequest of(
      JournalCheck.Difference<ThreadState, ThreadEvent> difference, Agents agents) {
    ThreadEvent.StepEnded ended = ended(difference.recorded());
    ThreadState before = difference.before();
    StepFrame frame = before.frames().get(ended.frame());
    return new OtherRequest(
        Objects.requireNonNull(ended.log().asked()),
        Objects.requireNonNull(ended(difference.now()).log().asked()),
        frame,
        tools(agents.find(before.agent()), frame));
  }

  private static ThreadEvent.StepEnded ended(List<ThreadEvent> events) {
    return (ThreadEvent.StepEnded) events.get(0);
  }

  private static List<String> tools(@Nullable Agent agent, @Nullable StepFrame frame) {
    String name = frame == null ? null : frame.prompt();
    Prompt prompt = agent == null || name == null ? null : agent.prompt(name);
    return prompt == null ? List.of() : prompt.tools().stream().map(Offered::name).toList();
  }

  /** The parts that differ, in a word each. */
  String parts() {
    List<String> parts = new ArrayList<>();
    if (recorded.instructsOtherwise(now)) {
      parts.add("instructions");
    }
    if (recorded.showsOtherwise(now)) {
      parts.add("messages");
    }
    if (recorded.offersOtherwise(now)) {
      parts.add("tools");
    }
    return String.join(", ", parts);
  }

  /** What differs, a line for each part. */
  String text() {
    List<String> lines = new ArrayList<>();
    if (recorded.instructsOtherwise(now)) {
      lines.add("Instructions: not those that were recorded");
    }
    if (recorded.showsOtherwise(now)) {
      lines.add("Messages:     " + counted(recorded.messages(), now.messages(), "message", ""));
    }
    if (recorded.offersOtherwise(now)) {
      String names = tools.stream().sorted().collect(Collectors.joining(", "));
      String which = tools.isEmpty() ? "" : ": " + names;
      lines.add("Tools:        " + counted(recorded.tools(), now.tools(), "tool", which));
    }
    return String.join("\n", lines);
  }

  private static String counted(
      RequestDigest.@Nullable Part then,
      RequestDigest.@Nullable Part now,
      String what,
      String which) {
    int before = then == null ? 0 : then.count();
    int count = now == null ? 0 : now.count();
    return before == count
        ? "%s as were recorded, but not the same%s".formatted(plural(count, what), which)
        : "%s now, %s recorded%s".formatted(plural(count, what), before, which);
  }

  private static String plural(int count, String what) {
    return count + " " + what + (count == 1 ? "" : "s");
  }

  /** Where the reason is likely to be found. */
  String advice() {
    List<String> places = new ArrayList<>();
    if (recorded.instructsOtherwise(now)) {
      places.add("the texts of the prompt and the hooks that change them");
    }
    if (recorded.showsOtherwise(now)) {
      places.add("the window of the prompt and the hooks that filter messages");
    }
    if (recorded.offersOtherwise(now)) {
      places.add("the names, descriptions and arguments of the tools");
    }
    String clock =
        recorded.instructsOtherwise(now) || recorded.showsOtherwise(now)
            ? "; a hook that reads a clock, or anything else outside the thread, asks otherwise"
                + " each time"
            : "";
    return "look at " + String.join(", and at ", places) + clock;
  }
}
