package io.fermata.agent.state;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Fingerprint;
import io.fermata.agent.message.Message;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Messages and answers from outside: the waiting ones, and the data to deduplicate them.
 *
 * @param inbox messages that wait for the end of the current step
 * @param keys the latest keys of messages, and the ids of those messages
 * @param digests the latest keys, and digests of their messages
 * @param answers the latest ids of people's answers, and what they answered
 * @param received how many messages have been received
 */
public record Mailbox(
    List<Message> inbox,
    Map<String, String> keys,
    Map<String, String> digests,
    Map<String, Answered> answers,
    long received) {

  /**
   * What a person answered.
   *
   * @param decision whether the call was approved, or a digest of the answers to its flow
   */
  public record Answered(String call, String decision) {
    static Answered of(ThreadEvent.CallAnswered event) {
      Boolean approved = event.approved();
      return new Answered(
          event.call(), approved == null ? digest(event.answers()) : String.valueOf(approved));
    }

    private static String digest(@Nullable JsonNode answers) {
      return answers == null ? "" : Fingerprint.of(answers);
    }

    /**
     * Whether another answer is the same one.
     *
     * @param about the call that it is about; null for one that is over
     */
    public boolean repeats(ThreadInput.Answer answer, @Nullable CallState about) {
      boolean same =
          decision.equals(String.valueOf(answer.approved()))
              || decision.equals(digest(answer.answers()));
      return same && (about == null || about.key().equals(call));
    }
  }

  /** How many keys a thread remembers. */
  private static final int REMEMBERED = 256;

  static final Mailbox EMPTY = new Mailbox(List.of(), Map.of(), Map.of(), Map.of(), 0);

  /**
   * @param files the digests of the attachments of its message
   */
  Mailbox received(ThreadEvent.Received event, List<String> files) {
    Message message = event.message();
    List<Message> waiting = new ArrayList<>(inbox);
    waiting.add(message);
    String key = event.key();
    return key == null
        ? new Mailbox(List.copyOf(waiting), keys, digests, answers, received + 1)
        : new Mailbox(
            List.copyOf(waiting),
            remembered(keys, key, message.id()),
            remembered(digests, key, message.digest(files)),
            answers,
            received + 1);
  }

  /** The message has left the inbox. */
  Mailbox without(String messageId) {
    List<Message> waiting = new ArrayList<>(inbox);
    waiting.removeIf(message -> message.id().equals(messageId));
    return new Mailbox(List.copyOf(waiting), keys, digests, answers, received);
  }

  Mailbox answered(ThreadEvent.CallAnswered event) {
    Map<String, Answered> all = remembered(answers, event.answerId(), Answered.of(event));
    return new Mailbox(inbox, keys, digests, all, received);
  }

  /** Whether the key belongs to another message. */
  boolean contradicts(String key, Message message, List<Attachment> attachments) {
    String id = keys.get(key);
    String digest = digests.get(key);
    List<String> files = attachments.stream().map(Attachment::digest).toList();
    return id != null
        && digest != null
        && !digest.equals(message.attached(id, attachments).digest(files));
  }

  /**
   * The latest call of the parent whose message has left the inbox; empty if there is none.
   *
   * @param waiting whether those in the inbox count, too
   */
  String latestCall(boolean waiting) {
    Set<String> left = inbox.stream().map(Message::id).collect(Collectors.toSet());
    String latest = "";
    for (Map.Entry<String, String> each : keys.entrySet()) {
      if (each.getKey().startsWith(ThreadEvent.Parent.CALL)
          && (waiting || !left.contains(each.getValue()))) {
        latest = each.getKey().substring(ThreadEvent.Parent.CALL.length());
      }
    }
    return latest;
  }

  /** Without the messages, but with their ids. */
  Mailbox outline() {
    List<Message> waiting =
        inbox.stream().map(message -> Message.user("").placed(message.id(), 0, 0, null)).toList();
    return new Mailbox(waiting, keys, digests, answers, received);
  }

  private static <T> Map<String, T> remembered(Map<String, T> before, String key, T value) {
    Map<String, T> all = new LinkedHashMap<>(before);
    all.put(key, value);
    if (all.size() > REMEMBERED) {
      all.remove(all.keySet().iterator().next());
    }
    return all;
  }
}
