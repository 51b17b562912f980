package io.fermata.testkit.eval;

import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Role;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.RunState;
import io.fermata.flow.replay.RunJournal;
import java.util.ArrayList;
import java.util.List;

/**
 * A conversation as judges and users see it.
 *
 * @param messages what was said in this trial, without the recorded history before it
 * @param calls the calls of tools, in order, including those of sub-prompts
 * @param state the state of the thread: its storage, its environment, why it rests
 * @param runs the runs of flows that were begun, the oldest first
 */
public record EvalRun(
    List<Message> messages, List<EvalCall> calls, ThreadState state, List<RunJournal> runs) {
  public EvalRun {
    messages = List.copyOf(messages);
    calls = List.copyOf(calls);
    runs = List.copyOf(runs);
  }

  /** What the user has said, without silent messages, such as those of the host. */
  public List<String> asked() {
    return said(Role.USER);
  }

  /** What the agent has said to the user, without silent messages. */
  public List<String> replies() {
    return said(Role.ASSISTANT);
  }

  private List<String> said(Role role) {
    return messages.stream()
        .filter(message -> message.role() == role && !message.silent() && message.content() != null)
        .map(message -> String.valueOf(message.content()))
        .filter(text -> !text.isBlank())
        .toList();
  }

  /** What the agent said last; empty if it has said nothing. */
  public String reply() {
    List<String> replies = replies();
    return replies.isEmpty() ? "" : replies.get(replies.size() - 1);
  }

  public boolean called(String tool) {
    return !calls(tool).isEmpty();
  }

  public List<EvalCall> calls(String tool) {
    return calls.stream().filter(call -> call.tool().equals(tool)).toList();
  }

  /** The runs of flows that ended like this. */
  public List<RunState> runs(RunState.Status status) {
    return runs.stream().map(RunJournal::state).filter(run -> run.status() == status).toList();
  }

  /** The conversation as text, with its calls, for people and for judges. */
  public String transcript() {
    List<String> lines = new ArrayList<>();
    for (Message message : messages) {
      String text = String.valueOf(message.content());
      switch (message.role()) {
        case USER -> lines.add("User: " + text);
        case SYSTEM -> lines.add("System: " + text);
        case TOOL -> lines.add("Result of " + message.name() + ": " + text);
        case ASSISTANT -> {
          if (message.content() != null && !text.isBlank()) {
            lines.add("Assistant: " + text);
          }
          for (RequestedCall call : message.toolCalls()) {
            lines.add("Assistant calls %s %s".formatted(call.name(), call.function().arguments()));
          }
        }
      }
    }
    return String.join("\n", lines);
  }
}
