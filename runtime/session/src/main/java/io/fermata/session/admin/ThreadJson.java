package io.fermata.session.admin;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.EnumNamingStrategies;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Side;
import io.fermata.agent.model.ModelAttempt;
import io.fermata.agent.model.ModelError;
import io.fermata.agent.state.ChildThread;
import io.fermata.agent.state.HeldWork;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFork;
import io.fermata.agent.state.ThreadMetadata;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The JSON of threads for clients: messages, status and events, without the bytes of files and
 * without storage, context and environment.
 */
public final class ThreadJson {
  /**
   * Writes components under their own names, those that are null included, and constants in lower
   * case. {@code ThreadJsonTest} names all that is shown.
   */
  private static final ObjectMapper MAPPER =
      Json.MAPPER
          .copy()
          .setDefaultPropertyInclusion(JsonInclude.Include.ALWAYS)
          .addMixIn(Side.class, LowerCase.class)
          .addMixIn(Threads.Status.class, LowerCase.class)
          .addMixIn(ForkOrigin.Mode.class, LowerCase.class)
          .addMixIn(ModelError.class, LowerCase.class)
          .addMixIn(ModelAttempt.class, Attempt.class)
          .addMixIn(ThreadEvent.CallAnswered.class, Sparse.class)
          .addMixIn(ThreadEvent.Emitted.class, Sparse.class)
          .addMixIn(ThreadMetadata.class, About.class)
          .addMixIn(HeldWork.class, Held.class)
          .addMixIn(ChildThread.class, Child.class);

  private ThreadJson() {}

  @EnumNaming(EnumNamingStrategies.SnakeCaseStrategy.class)
  private interface LowerCase {}

  @JsonInclude(JsonInclude.Include.NON_NULL)
  private interface Sparse {}

  private interface Attempt {
    @JsonProperty("attempt")
    int number();
  }

  @JsonIgnoreProperties("principal")
  private interface About {
    @JsonProperty
    @JsonInclude(JsonInclude.Include.NON_NULL)
    ThreadFork fork();
  }

  private interface Held {
    @JsonProperty
    String why();
  }

  @JsonIgnoreProperties({"note", "side"})
  private interface Child {}

  /** An event as clients receive it. */
  public record Notification(String type, ObjectNode data) {}

  private static JsonNode tree(Object value) {
    return MAPPER.valueToTree(value);
  }

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
    ObjectNode json = sorted(tree(view.about()), view.about().tags());
    json.setAll((ObjectNode) tree(view.progress()));
    json.set("questions", questions(view.questions()));
    json.set("waits", waits(view.waits()));
    json.set("held", tree(view.held()));
    json.put("waiting", view.inbox().size());
    json.put("messages", view.messages());
    json.set("usage", tree(view.usage()));
    json.set("children", tree(view.children()));
    return json.put("offset", view.offset());
  }

  public static JsonNode questions(List<Threads.Question> questions) {
    return tree(questions);
  }

  public static JsonNode waits(List<Threads.Wait> waits) {
    return tree(waits);
  }

  public static ObjectNode listed(Threads.Listed thread) {
    return sorted(tree(thread), thread.tags());
  }

  private static ObjectNode sorted(JsonNode json, Set<String> tags) {
    ObjectNode object = (ObjectNode) json;
    tags.stream().sorted().forEach(object.putArray("tags")::add);
    return object;
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
          shown(ThreadEvent.Compacted.class, "compacted", "upTo", "usage", "at"),
          shown(ThreadEvent.CallBegan.class, "call.began", "call", "attempt", "at"),
          shown(
              ThreadEvent.CallFailed.class, "call.failed", "call", "attempt", "reason", "retryAt"),
          shown(ThreadEvent.CallAsked.class, "call.asked", "call", "approval", "at", "question"),
          shown(
              ThreadEvent.CallAnswered.class,
              "call.answered",
              "call",
              "approved",
              "answers",
              "reason",
              "by",
              "at"),
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
          shown(ThreadEvent.Emitted.class, "custom", "type", "data", "at"),
          shown(ThreadEvent.FileRemoved.class, "file.removed", "path"),
          shown(ThreadEvent.FileMoved.class, "file.moved", "path", "to"));

  private record Shown(String type, List<String> names) {
    Notification of(ThreadEvent event) {
      JsonNode all = tree(event);
      ObjectNode data = Json.object();
      names.stream().filter(all::has).forEach(name -> data.set(name, all.get(name)));
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
    ofMessages(all, event);
    if (!ofSteps(all, event)) {
      ofTheRest(all, event);
    }
    return all;
  }

  private static ObjectNode add(List<Notification> all, String type) {
    ObjectNode data = Json.object();
    all.add(new Notification(type, data));
    return data;
  }

  private static void ofMessages(List<Notification> all, ThreadEvent event) {
    if (event instanceof ThreadEvent.StepEnded ended && ended.saysNothing()) {
      return;
    }
    String type = event instanceof ThreadEvent.Received ? "message.received" : "message.created";
    for (Message message : event.messages()) {
      ObjectNode data = add(all, type);
      data.set("message", message(message));
      if (event instanceof ThreadEvent.Said said && said.before() != null) {
        data.put("before", said.before());
      }
    }
  }

  private static boolean ofSteps(List<Notification> all, ThreadEvent event) {
    if (event instanceof ThreadEvent.StepEnded ended) {
      stepEnded(all, ended);
    } else if (event instanceof ThreadEvent.StepFailed failed) {
      ObjectNode data = add(all, "step.failed");
      data.put("code", failed.code()).put("reason", failed.reason());
      data.set("failed", tree(failed.failed()));
      data.put("at", failed.at());
    } else if (event instanceof ThreadEvent.CallEnded ended) {
      add(all, "call.ended")
          .put("call", ended.call())
          .put("messageId", ended.message().id())
          .put("name", ended.message().name())
          .put("failed", ended.message().failed())
          .put("code", ended.code())
          .put("at", ended.at());
    } else if (event instanceof ThreadEvent.CallDetached detached) {
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
    ThreadEvent.StepLog log = ended.log();
    ObjectNode data = add(all, "step.ended");
    data.put("id", log.id()).put("messageId", ended.message().id());
    data.put("model", log.model()).put("finish", log.finish());
    data.set("usage", tree(log.usage()));
    data.set("failed", tree(log.failed()));
    ArrayNode calls = data.putArray("calls");
    for (RequestedCall call : ended.calls()) {
      String key = ended.key(calls.size());
      calls.addObject().put("call", key).put("id", call.id()).put("name", call.name());
    }
    data.put("began", log.began()).put("ended", log.ended());
  }

  private static void ofTheRest(List<Notification> all, ThreadEvent event) {
    if (event instanceof ThreadEvent.Created created) {
      ObjectNode data = add(all, "thread.created");
      data.put("threadId", created.threadId()).put("agent", created.agent());
      sorted(data, created.tags()).put("at", created.at());
    } else if (event instanceof ThreadEvent.ForkedFrom forked) {
      add(all, "thread.forked").put("at", forked.at()).set("fork", tree(forked.fork()));
    } else if (event instanceof ThreadEvent.Tagged tagged) {
      sorted(add(all, "tagged"), tagged.tags());
    } else if (event instanceof ThreadEvent.ChildCreated born) {
      add(all, "child.created")
          .put("threadId", born.child().threadId())
          .put("relation", born.child().relation())
          .put("agent", born.child().agent());
    } else if (event instanceof ThreadEvent.Updated updated) {
      add(all, "message.updated")
          .put("messageId", updated.messageId())
          .setAll((ObjectNode) Json.tree(updated.update()));
    } else if (event instanceof ThreadEvent.FileWritten written) {
      add(all, "file.written")
          .put("path", written.path())
          .put("mimeType", written.mimeType())
          .put("size", written.data().length)
          .put("at", written.at());
    }
  }
}
