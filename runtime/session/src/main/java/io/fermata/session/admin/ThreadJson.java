package io.fermata.session.admin;

import com.fasterxml.jackson.databind.EnumNamingStrategies;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageUpdate;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.ModelAttempt;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFork;
import io.fermata.agent.state.ThreadMetadata;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The JSON of threads for clients: messages, status and events, without the bytes of files and
 * without storage, context and environment.
 */
public final class ThreadJson {
  /** Writes events, with sides as clients write them. */
  private static final ObjectMapper EVENTS =
      Json.MAPPER.copy().addMixIn(Side.class, LowerCase.class);

  private ThreadJson() {}

  @EnumNaming(EnumNamingStrategies.SnakeCaseStrategy.class)
  private interface LowerCase {}

  /** An event as clients receive it. */
  public record Notification(String type, ObjectNode data) {}

  // --- messages and views ----------------------------------------------------------------------

  public static ObjectNode message(Message message) {
    ObjectNode json = Json.object();
    json.put("id", message.id());
    json.put("role", RunJson.name(message.role()));
    json.put("content", message.content());
    json.put("name", message.name());
    json.put("tool_calls", calls(message.toolCalls()));
    json.put("tool_call_id", message.toolCallId());
    json.put("log_id", message.logId());
    json.put("created_at", message.createdAt());
    json.put("status", RunJson.name(message.status()));
    json.put("silent", message.silent());
    json.put("depth", message.depth());
    json.put("parent_id", message.parentId());
    message.attachments().forEach(json.putArray("attachments")::add);
    json.set("metadata", message.metadata());
    return json;
  }

  /** The calls as one JSON text, which this message format requires. */
  private static @Nullable String calls(List<RequestedCall> calls) {
    return calls.isEmpty() ? null : Json.text(Json.tree(calls));
  }

  public static ArrayNode messages(List<Message> messages) {
    ArrayNode all = Json.object().putArray("messages");
    messages.forEach(message -> all.add(message(message)));
    return all;
  }

  public static ObjectNode view(Threads.View view) {
    ObjectNode json = Json.object();
    ThreadMetadata about = view.about();
    json.put("threadId", about.threadId());
    json.put("agent", about.agent());
    json.put("origin", about.origin());
    about.tags().stream().sorted().forEach(json.putArray("tags")::add);
    json.put("createdAt", about.createdAt());
    json.put("parent", about.parent());
    if (about.fork() != null) {
      json.set("fork", fork(about.fork()));
    }
    Threads.Progress progress = view.progress();
    json.put("status", RunJson.name(progress.status()));
    json.put("side", RunJson.name(progress.side()));
    json.put("stoppedBy", side(progress.stoppedBy()));
    json.put("code", progress.code());
    json.put("detail", progress.detail());
    json.put("statusText", progress.statusText());
    json.set("questions", questions(view.questions()));
    json.set("waits", waits(view.waits()));
    ArrayNode held = json.putArray("held");
    view.held()
        .forEach(
            work ->
                held.addObject()
                    .put("what", RunJson.name(work.what()))
                    .put("id", work.id())
                    .put("agent", work.agent())
                    .put("name", work.name())
                    .put("why", work.why()));
    json.put("waiting", view.inbox().size());
    json.put("messages", view.messages());
    json.set("usage", usage(view.usage()));
    ArrayNode children = json.putArray("children");
    view.children()
        .forEach(
            child ->
                children
                    .addObject()
                    .put("threadId", child.threadId())
                    .put("relation", child.relation())
                    .put("agent", child.agent())
                    .put("status", RunJson.name(child.status()))
                    .set("usage", usage(child.usage())));
    json.put("offset", view.offset());
    return json;
  }

  private static ObjectNode fork(ThreadFork fork) {
    return Json.object()
        .put("threadId", fork.threadId())
        .put("entry", fork.entry())
        .put("entryAt", fork.entryAt())
        .put("mode", RunJson.name(fork.mode()))
        .put("by", fork.by());
  }

  public static ArrayNode questions(List<Threads.Question> questions) {
    ArrayNode all = Json.object().putArray("questions");
    for (Threads.Question question : questions) {
      all.addObject()
          .put("id", question.id())
          .put("call", question.call())
          .put("tool", question.tool())
          .put("approval", question.approval())
          .set("question", question.question());
    }
    return all;
  }

  public static ArrayNode waits(List<Threads.Wait> waits) {
    ArrayNode all = Json.object().putArray("waits");
    for (Threads.Wait wait : waits) {
      all.addObject()
          .put("call", wait.call())
          .put("tool", wait.tool())
          .put("waitsFor", wait.waitsFor());
    }
    return all;
  }

  public static ObjectNode listed(Threads.Listed thread) {
    ObjectNode json = Json.object();
    json.put("threadId", thread.threadId()).put("agent", thread.agent());
    thread.tags().stream().sorted().forEach(json.putArray("tags")::add);
    json.put("createdAt", thread.createdAt()).put("activeAt", thread.activeAt());
    return json.put("status", thread.status());
  }

  private static ObjectNode usage(Usage usage) {
    return Json.object()
        .put("inputTokens", usage.inputTokens())
        .put("cachedTokens", usage.cachedTokens())
        .put("outputTokens", usage.outputTokens())
        .put("cost", usage.cost());
  }

  private static @Nullable String side(@Nullable Side side) {
    return side == null ? null : RunJson.name(side);
  }

  // --- what happens ----------------------------------------------------------------------------

  /**
   * The events that are shown as they are, and which of their components: one that is added to an
   * event is not shown before it is named here.
   */
  private static final Map<Class<?>, Shown> PLAIN =
      Map.ofEntries(
          shown(ThreadEvent.Deleted.class, "thread.deleted", "at"),
          shown(ThreadEvent.Woke.class, "woke", "flowId", "at"),
          shown(ThreadEvent.TurnBegan.class, "turn.began", "side", "messageId", "attempt", "at"),
          shown(ThreadEvent.SideTurned.class, "turn.ended", "from", "to"),
          shown(
              ThreadEvent.StepBegan.class,
              "step.began",
              "side",
              "prompt",
              "step",
              "attempt",
              "messageId",
              "at"),
          shown(ThreadEvent.Stopped.class, "stopped", "by", "code", "detail", "session", "at"),
          shown(ThreadEvent.HandedOver.class, "handed_over", "agent"),
          shown(ThreadEvent.CallBegan.class, "call.began", "call", "attempt", "at"),
          shown(
              ThreadEvent.CallFailed.class, "call.failed", "call", "attempt", "reason", "retryAt"),
          shown(ThreadEvent.CallAsked.class, "call.asked", "call", "approval", "at", "question"),
          shown(ThreadEvent.CallRemoved.class, "call.removed", "call", "at"),
          shown(ThreadEvent.EffectBegan.class, "effect.began", "id", "attempt", "at"),
          shown(
              ThreadEvent.EffectDelayed.class, "effect.delayed", "id", "attempt", "reason", "due"),
          shown(ThreadEvent.EffectEnded.class, "effect.ended", "id", "error", "at"),
          shown(
              ThreadEvent.ChildReported.class,
              "child.reported",
              "threadId",
              "failed",
              "text",
              "working",
              "at"),
          shown(ThreadEvent.ChildResumed.class, "child.resumed", "threadId"),
          shown(ThreadEvent.ChildStatusChanged.class, "child.status", "threadId", "status", "at"),
          shown(ThreadEvent.StatusSet.class, "status", "text"),
          shown(ThreadEvent.Scheduled.class, "effect.scheduled", "id", "effect", "due"),
          shown(ThreadEvent.Unscheduled.class, "effect.removed", "id"),
          shown(ThreadEvent.FileRemoved.class, "file.removed", "path"),
          shown(ThreadEvent.FileMoved.class, "file.moved", "path", "to"));

  private record Shown(String type, List<String> names) {
    Notification of(ThreadEvent event) {
      JsonNode all = EVENTS.valueToTree(event);
      ObjectNode data = Json.object();
      names.forEach(name -> data.set(name, all.get(name)));
      return new Notification(type, data);
    }
  }

  private static Map.Entry<Class<?>, Shown> shown(
      Class<? extends ThreadEvent> event, String type, String... names) {
    return Map.entry(event, new Shown(type, List.of(names)));
  }

  /** The notifications of an event: usually one, none if it is internal. */
  public static List<Notification> notifications(ThreadEvent event) {
    Shown plain = PLAIN.get(event.getClass());
    if (plain != null) {
      return List.of(plain.of(event));
    }
    List<Notification> all = new ArrayList<>(2);
    if (!ofMessages(all, event) && !ofSteps(all, event)) {
      ofTheRest(all, event);
    }
    return all;
  }

  private static ObjectNode add(List<Notification> all, String type) {
    ObjectNode data = Json.object();
    all.add(new Notification(type, data));
    return data;
  }

  private static void addMessage(List<Notification> all, Message message) {
    add(all, "message.created").set("message", message(message));
  }

  private static boolean ofMessages(List<Notification> all, ThreadEvent event) {
    if (event instanceof ThreadEvent.Received received) {
      add(all, "message.received").set("message", message(received.message()));
    } else if (event instanceof ThreadEvent.Taken taken) {
      addMessage(all, taken.message());
    } else if (event instanceof ThreadEvent.FrameOpened opened) {
      opened.said().forEach(message -> addMessage(all, message));
    } else if (event instanceof ThreadEvent.Said said) {
      ObjectNode data = add(all, "message.created");
      data.set("message", message(said.message()));
      putIfPresent(data, "before", said.before());
    } else if (event instanceof ThreadEvent.Updated updated) {
      updated(add(all, "message.updated"), updated.messageId(), updated.update());
    } else {
      return false;
    }
    return true;
  }

  private static void updated(ObjectNode data, String messageId, MessageUpdate update) {
    data.put("messageId", messageId);
    putIfPresent(data, "content", update.content());
    putIfPresent(data, "silent", update.silent());
    putIfPresent(data, "metadata", update.metadata());
  }

  private static boolean ofSteps(List<Notification> all, ThreadEvent event) {
    if (event instanceof ThreadEvent.StepEnded ended) {
      stepEnded(all, ended);
    } else if (event instanceof ThreadEvent.StepFailed failed) {
      ObjectNode data = add(all, "step.failed");
      data.put("code", failed.code()).put("reason", failed.reason());
      data.set("failed", attempts(failed.failed()));
      data.put("at", failed.at());
      if (failed.message() != null) {
        addMessage(all, failed.message());
      }
    } else if (event instanceof ThreadEvent.CallAnswered answered) {
      ObjectNode data = add(all, "call.answered").put("call", answered.call());
      putIfPresent(data, "approved", answered.approved());
      putIfPresent(data, "answers", answered.answers());
      putIfPresent(data, "reason", answered.reason());
      putIfPresent(data, "by", answered.by());
      data.put("at", answered.at());
    } else if (event instanceof ThreadEvent.CallEnded ended) {
      addMessage(all, ended.message());
      add(all, "call.ended")
          .put("call", ended.call())
          .put("messageId", ended.message().id())
          .put("name", ended.message().name())
          .put("failed", ended.message().failed())
          .put("code", ended.code())
          .put("at", ended.at());
    } else if (event instanceof ThreadEvent.CallDetached detached) {
      addMessage(all, detached.message());
      add(all, "call.detached")
          .put("call", detached.call())
          .put("messageId", detached.message().id())
          .put("at", detached.at());
    } else {
      return false;
    }
    return true;
  }

  private static void stepEnded(List<Notification> all, ThreadEvent.StepEnded ended) {
    Message message = ended.message();
    boolean empty = message.content() == null || message.content().isBlank();
    if (!ended.calls().isEmpty() || !empty) {
      addMessage(all, message);
    }
    ThreadEvent.StepLog log = ended.log();
    ObjectNode data = add(all, "step.ended");
    data.put("id", log.id()).put("messageId", message.id());
    data.put("model", log.model()).put("finish", log.finish());
    data.set("usage", usage(log.usage()));
    data.set("failed", attempts(log.failed()));
    ArrayNode calls = data.putArray("calls");
    for (RequestedCall call : ended.calls()) {
      String key = ended.key(calls.size());
      calls.addObject().put("call", key).put("id", call.id()).put("name", call.name());
    }
    data.put("began", log.began()).put("ended", log.ended());
  }

  private static ArrayNode attempts(List<ModelAttempt> attempts) {
    ArrayNode all = Json.object().putArray("attempts");
    for (ModelAttempt attempt : attempts) {
      all.addObject()
          .put("model", attempt.model())
          .put("attempt", attempt.number())
          .put("code", attempt.code().wireName())
          .put("message", attempt.message());
    }
    return all;
  }

  private static void ofTheRest(List<Notification> all, ThreadEvent event) {
    if (event instanceof ThreadEvent.Created created) {
      ObjectNode data = add(all, "thread.created");
      data.put("threadId", created.threadId()).put("agent", created.agent());
      created.tags().stream().sorted().forEach(data.putArray("tags")::add);
      data.put("at", created.at());
    } else if (event instanceof ThreadEvent.ForkedFrom forked) {
      add(all, "thread.forked").put("at", forked.at()).set("fork", fork(forked.fork()));
    } else if (event instanceof ThreadEvent.Compacted compacted) {
      ObjectNode data = add(all, "compacted").put("upTo", compacted.upTo());
      data.set("usage", usage(compacted.usage()));
      data.put("at", compacted.at());
    } else if (event instanceof ThreadEvent.Tagged tagged) {
      ArrayNode tags = add(all, "tagged").putArray("tags");
      tagged.tags().stream().sorted().forEach(tags::add);
    } else if (event instanceof ThreadEvent.Emitted emitted) {
      ObjectNode data = add(all, "custom").put("type", emitted.type());
      putIfPresent(data, "data", emitted.data());
      data.put("at", emitted.at());
    } else if (event instanceof ThreadEvent.ChildCreated born) {
      add(all, "child.created")
          .put("threadId", born.child().threadId())
          .put("relation", born.child().relation())
          .put("agent", born.child().agent());
    } else if (event instanceof ThreadEvent.FileWritten written) {
      add(all, "file.written")
          .put("path", written.path())
          .put("mimeType", written.mimeType())
          .put("size", written.data().length)
          .put("at", written.at());
    }
  }

  private static void putIfPresent(ObjectNode data, String name, @Nullable Object value) {
    if (value != null) {
      data.set(name, Json.tree(value));
    }
  }
}
