package io.fermata.agent.state;

import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Messages and answers from outside: the waiting ones, and the data to deduplicate them.
 *
 * @param inbox messages that wait for the end of the current step
 * @param keys the latest keys of messages, and the ids of those messages
 * @param digests the latest keys, and digests of the content of their messages
 * @param answers the latest ids of people's answers, and the calls that they answered
 * @param received how many messages have been received
 */
public record Mailbox(
    List<Message> inbox,
    Map<String, String> keys,
    Map<String, String> digests,
    Map<String, String> answers,
    long received) {

  /** How many keys a thread remembers. */
  private static final int REMEMBERED = 256;

  static final Mailbox EMPTY = new Mailbox(List.of(), Map.of(), Map.of(), Map.of(), 0);

  Mailbox received(ThreadEvent.Received event) {
    Message message = event.message();
    List<Message> waiting = new ArrayList<>(inbox);
    waiting.add(message);
    String key = event.key();
    return key == null
        ? new Mailbox(List.copyOf(waiting), keys, digests, answers, received + 1)
        : new Mailbox(
            List.copyOf(waiting),
            remembered(keys, key, message.id()),
            remembered(digests, key, message.digest()),
            answers,
            received + 1);
  }

  /** The message has left the inbox. */
  Mailbox without(String messageId) {
    List<Message> waiting = new ArrayList<>(inbox);
    waiting.removeIf(message -> message.id().equals(messageId));
    return new Mailbox(List.copyOf(waiting), keys, digests, answers, received);
  }

  Mailbox answered(String answerId, String call) {
    return new Mailbox(inbox, keys, digests, remembered(answers, answerId, call), received);
  }

  /** Whether the key belongs to a message with another content. */
  boolean contradicts(String key, Message message, List<Attachment> attachments) {
    String id = keys.get(key);
    String digest = digests.get(key);
    return id != null
        && digest != null
        && !digest.equals(message.attached(id, attachments).digest());
  }

  /** Without the content of the messages. */
  Mailbox outline() {
    List<Message> waiting = inbox.stream().map(message -> Message.user("")).toList();
    return new Mailbox(waiting, keys, digests, answers, received);
  }

  private static Map<String, String> remembered(
      Map<String, String> before, String key, String value) {
    Map<String, String> all = new LinkedHashMap<>(before);
    all.put(key, value);
    if (all.size() > REMEMBERED) {
      all.remove(all.keySet().iterator().next());
    }
    return all;
  }
}
