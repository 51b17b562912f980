package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.session.Telemetry;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The core that all transports share: from the bytes of a message to its response. It never blocks;
 * a response may complete on a thread of the host.
 */
final class Protocol {
  private static final Logger LOG = LoggerFactory.getLogger(Protocol.class);

  /** The method in telemetry of requests that are rejected before dispatch. */
  private static final String UNKNOWN = "unknown";

  private final Methods methods;
  private final LegacyEra legacy;
  private final Gate gate;
  private final Telemetry telemetry;
  private final Eras eras;

  Protocol(Methods methods, LegacyEra legacy, Gate gate, Telemetry telemetry) {
    this.methods = methods;
    this.legacy = legacy;
    this.gate = gate;
    this.telemetry = telemetry;
    this.eras = new Eras(methods);
  }

  /**
   * Answers a message. The stage never fails.
   *
   * @param progress the queue of messages until then; null if the client accepts no stream
   */
  CompletionStage<Answer> answer(byte[] bytes, Arrival arrival, @Nullable Progress progress) {
    JsonNode tree;
    try {
      tree = Wire.read(bytes);
    } catch (Refusal refusal) {
      return now(Answer.refused(arrival.unknownId(), refusal));
    }
    return answer(tree, arrival, progress);
  }

  /** Answers a message that has been read. The stage never fails. */
  CompletionStage<Answer> answer(JsonNode tree, Arrival arrival, @Nullable Progress progress) {
    return tree.isArray()
        ? legacy.batch(tree, arrival, each -> single(each, arrival, true, null))
        : single(tree, arrival, false, progress);
  }

  private CompletionStage<Answer> single(
      JsonNode tree, Arrival arrival, boolean batched, @Nullable Progress progress) {
    JsonNode id = Message.idOf(tree, arrival.unknownId());
    long begun = telemetry == Telemetry.NONE ? 0 : System.nanoTime();
    try {
      if (Message.isResponse(tree)) {
        return now(response(tree, arrival));
      }
      Message message = Message.of(tree);
      if (message.notification()) {
        return now(notification(message, arrival));
      }
      if (message.method().equals("initialize") && !Eras.declaresVersion(message)) {
        if (batched) {
          throw Refusal.invalid("The request initialize must not be part of a batch.");
        }
        return now(legacy.initialize(message, arrival));
      }
      return call(message, arrival, progress, begun);
    } catch (Refusal refusal) {
      tell(UNKNOWN, begun, refusal);
      return now(Answer.refused(id, refusal));
    } catch (RuntimeException | IOException e) {
      return now(failed(id, e));
    }
  }

  /** Only clients of the older era are sent requests, so only they respond. */
  private Answer response(JsonNode response, Arrival arrival) {
    if (arrival instanceof Arrival.Post post && Eras.modernHeader(post)) {
      throw Refusal.invalid("Send requests and notifications only: responses are not expected.");
    }
    legacy.response(response, arrival);
    return Answer.ACCEPTED;
  }

  private Answer notification(Message message, Arrival arrival) {
    if (arrival instanceof Arrival.Post post && !eras.ofNotification(message, post).modern()) {
      legacy.notification(message, post);
    }
    return Answer.ACCEPTED;
  }

  private CompletionStage<Answer> call(
      Message message, Arrival arrival, @Nullable Progress progress, long begun) {
    Revision revision = eras.of(message, arrival);
    Client client = revision.modern() ? new ModernClient(message.meta()) : legacy.client(arrival);
    Method method = method(message.method(), revision);
    Request request =
        new Request(
            message.id(),
            revision,
            arrival.caller(),
            client,
            message.params(),
            Traces.of(message.meta(), arrival),
            progress);
    CompletionStage<Result> answer = inside(method, request, message.method().equals("ping"));
    return (revision.modern() ? answer : legacy.orCancelled(request, answer))
        .handle(
            (result, failure) -> {
              tell(message.method(), begun, failure);
              return answered(message.id(), result, failure);
            });
  }

  private Method method(String name, Revision revision) {
    Method own = revision.modern() ? null : legacy.method(name);
    return own == null ? methods.named(name, revision) : own;
  }

  /** Counts the request in flight; ping is answered even while the server shuts down. */
  private CompletionStage<Result> inside(Method method, Request request, boolean ping) {
    if (ping) {
      return method.answer(request);
    }
    gate.enter();
    CompletionStage<Result> answer;
    try {
      answer = method.answer(request);
    } catch (RuntimeException | Error e) {
      answer = CompletableFuture.failedFuture(e);
    }
    return gate.untilTheEnd(answer).whenComplete((result, failure) -> gate.leave());
  }

  private void tell(String method, long begun, @Nullable Throwable failure) {
    if (telemetry != Telemetry.NONE) {
      String outcome =
          failure == null ? "ok" : cause(failure) instanceof Refusal ? "refused" : "failed";
      telemetry.requested(method, outcome, System.nanoTime() - begun);
    }
  }

  private static @Nullable Throwable cause(@Nullable Throwable failure) {
    return failure instanceof CompletionException ? failure.getCause() : failure;
  }

  private static Answer answered(
      JsonNode id, @Nullable Result result, @Nullable Throwable failure) {
    if (result == null) {
      return failed(id, failure);
    }
    try {
      return Answer.of(200, Wire.result(id, result));
    } catch (IOException | RuntimeException e) {
      return failed(id, e);
    }
  }

  private static Answer failed(JsonNode id, @Nullable Throwable failure) {
    Throwable cause = cause(failure);
    if (cause instanceof Refusal refusal) {
      return Answer.refused(id, refusal);
    }
    LOG.error("A request failed inside the server", cause);
    return Answer.refused(id, Refusal.internal());
  }

  private static CompletionStage<Answer> now(Answer answer) {
    return CompletableFuture.completedFuture(answer);
  }
}
