package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What the revisions before 2026-07-28 have and 2026-07-28 has not: the handshake, sessions,
 * batches, requests of the server to the client, and methods of their own. This interface is all
 * that dispatching knows of them.
 */
interface LegacyEra {
  /** Answers {@code initialize}. */
  Answer initialize(Message message, Arrival arrival) throws IOException;

  /**
   * The client that sent a message.
   *
   * @throws Refusal if it names a session that is unknown or has ended
   */
  Client client(Arrival arrival);

  /** A method that only these revisions have; null if there is none of that name. */
  @Nullable Method method(String name);

  /** Takes a response of a client to a request of the server. */
  void response(JsonNode response, Arrival arrival);

  /**
   * Takes a notification.
   *
   * @throws Refusal if it names a session that is unknown or has ended
   */
  void notification(Message message, Arrival.Post post);

  /** The result of a request, or a refusal as soon as the client cancels the request. */
  CompletionStage<Result> orCancelled(Request request, CompletionStage<Result> answer);

  /**
   * Answers an array of messages.
   *
   * @param each answers one of them
   */
  CompletionStage<Answer> batch(
      JsonNode messages, Arrival arrival, Function<JsonNode, CompletionStage<Answer>> each);
}
