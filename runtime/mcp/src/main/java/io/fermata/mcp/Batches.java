package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** Batches of JSON-RPC messages, which revision 2025-03-26 alone has. */
final class Batches {
  private static final int MAX_BATCH = 50;

  private Batches() {}

  static CompletionStage<Answer> answer(
      JsonNode messages,
      Arrival arrival,
      Quotas quotas,
      Function<JsonNode, CompletionStage<Answer>> each) {
    try {
      require(messages, arrival);
      // The first was counted when the request arrived.
      quotas.arrived(arrival.principal(), messages.size() - 1);
    } catch (Refusal refusal) {
      return CompletableFuture.completedFuture(Answer.refused(arrival.unknownId(), refusal));
    }
    List<CompletableFuture<Answer>> answers = new ArrayList<>(messages.size());
    for (JsonNode message : messages) {
      answers.add(each.apply(message).toCompletableFuture());
    }
    return CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new))
        .thenApply(all -> joined(answers.stream().map(CompletableFuture::join).toList()));
  }

  private static void require(JsonNode messages, Arrival arrival) {
    if (!Eras.undeclared(arrival).batches()) {
      throw Refusal.invalid(
          "Batches exist in revision 2025-03-26 only: send each message on its own.");
    }
    if (messages.isEmpty() || messages.size() > MAX_BATCH) {
      throw Refusal.invalid("A batch must have 1 to " + MAX_BATCH + " messages.");
    }
  }

  private static Answer joined(List<Answer> answers) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (Answer answer : answers) {
      if (answer.body != null) {
        all.write(all.size() == 0 ? '[' : ',');
        all.writeBytes(answer.body);
      }
    }
    if (all.size() == 0) {
      return Answer.ACCEPTED;
    }
    all.write(']');
    return Answer.of(200, all.toByteArray());
  }
}
