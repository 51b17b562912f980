package io.fermata.agent.model;

import dev.langchain4j.http.client.SuccessfulHttpResponse;
import dev.langchain4j.http.client.sse.ServerSentEvent;
import dev.langchain4j.http.client.sse.ServerSentEventContext;
import dev.langchain4j.http.client.sse.ServerSentEventListener;
import dev.langchain4j.http.client.sse.ServerSentEventParsingHandle;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Passes the events of a stream to its client, which it ends with an error if one of them reports a
 * failure, or if none says that the reply is whole: clients take what they have then for a reply.
 */
final class ReplyParts implements ServerSentEventListener {
  private final ServerSentEventListener client;
  private @Nullable ServerSentEventParsingHandle parsing;
  private boolean begun;
  private boolean whole;
  private boolean failed;

  ReplyParts(ServerSentEventListener client) {
    this.client = client;
  }

  @Override
  public void onOpen(SuccessfulHttpResponse response) {
    client.onOpen(response);
  }

  @Override
  public void onEvent(ServerSentEvent event, ServerSentEventContext context) {
    parsing = context.parsingHandle();
    if (passes(event)) {
      client.onEvent(event, context);
    } else {
      context.parsingHandle().cancel();
    }
  }

  @Override
  public void onEvent(ServerSentEvent event) {
    if (!failed && passes(event)) {
      client.onEvent(event);
    }
  }

  private boolean passes(ServerSentEvent event) {
    ReplyPart part = ReplyPart.of(event.data());
    begun |= part.choices();
    whole |= part.last();
    RuntimeException failure = part.failure();
    if (failure != null) {
      onError(failure);
    }
    return failure == null;
  }

  @Override
  public void onError(Throwable thrown) {
    failed = true;
    client.onError(thrown);
  }

  @Override
  public void onClose() {
    boolean cancelled = parsing != null && parsing.isCancelled();
    if (failed) {
      return;
    } else if (begun && !whole && !cancelled) {
      onError(new IOException("The stream ended early"));
    } else {
      client.onClose();
    }
  }
}
