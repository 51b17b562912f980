package io.fermata.agent.model;

import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.CompleteToolCall;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.PartialThinking;
import dev.langchain4j.model.chat.response.PartialThinkingContext;
import dev.langchain4j.model.chat.response.PartialToolCall;
import dev.langchain4j.model.chat.response.PartialToolCallContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.chat.response.StreamingHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One streamed reply: the client's threads enqueue signals, the calling thread takes them and
 * notifies the listener. Closing it early ends the stream.
 */
final class StreamedReply implements StreamingChatResponseHandler, AutoCloseable {
  private static final ThreadLocal<@Nullable StreamedReply> ASKING = new ThreadLocal<>();

  /** A signal of a stream. */
  private sealed interface Signal {
    record Text(String delta) implements Signal {}

    record Thinking(String delta) implements Signal {}

    /** A part of a tool call, which is not delivered before it is complete. */
    record Calling() implements Signal {}

    /** No part of the reply, but a sign that the provider is working. */
    record Alive() implements Signal {}

    record Done(@Nullable ChatResponse response) implements Signal {}

    record Broken(Throwable thrown) implements Signal {}
  }

  private final BlockingQueue<Signal> signals = new LinkedBlockingQueue<>();
  private final List<Runnable> ends = new ArrayList<>();
  private @Nullable StreamingHandle handle;
  private boolean closed;

  /**
   * Registers the connection that the calling thread opened for a streamed reply, so that a stream
   * can be ended before its first signal. Ignored on other threads.
   */
  static void opened(Runnable end) {
    StreamedReply asking = ASKING.get();
    if (asking != null) {
      asking.endsBy(end);
    }
  }

  void ask(StreamingChatModel model, ChatRequest request) {
    ASKING.set(this);
    try {
      model.chat(request, this);
    } finally {
      ASKING.remove();
    }
  }

  /**
   * Receives the reply.
   *
   * @param first how long it may take to start
   * @param between how long it may be silent after that
   */
  @Nullable ChatResponse await(ModelListener listener, Duration first, Duration between)
      throws InterruptedException, Unanswered {
    boolean begun = false;
    while (true) {
      Duration timeout = begun ? between : first;
      Signal signal = signals.poll(timeout.toNanos(), TimeUnit.NANOSECONDS);
      if (signal == null) {
        String silence = begun ? "The stream was silent for " : "The stream did not start within ";
        throw new Unanswered(Failure.late(ModelError.STALLED, silence + timeout));
      } else if (signal instanceof Signal.Done done) {
        return done.response();
      } else if (signal instanceof Signal.Broken broken) {
        throw Unanswered.of(broken.thrown());
      } else if (!(signal instanceof Signal.Alive)) {
        begun = true;
        notify(listener, signal);
      }
    }
  }

  private static void notify(ModelListener listener, Signal signal) {
    if (signal instanceof Signal.Text text) {
      listener.text(text.delta());
    } else if (signal instanceof Signal.Thinking thinking) {
      listener.thinking(thinking.delta());
    }
  }

  /** Ends the stream if it still runs. */
  @Override
  public void close() {
    List<Runnable> open;
    synchronized (ends) {
      closed = true;
      open = List.copyOf(ends);
      ends.clear();
    }
    open.forEach(StreamedReply::end);
  }

  private void endsBy(Runnable end) {
    synchronized (ends) {
      if (!closed) {
        ends.add(end);
        return;
      }
    }
    end(end);
  }

  private static void end(Runnable end) {
    try {
      end.run();
    } catch (RuntimeException e) {
      // Some clients cannot end a stream; later signals are then ignored.
    }
  }

  /** Clients pass the handle with every piece; one is enough. */
  private void endsBy(StreamingHandle streaming) {
    synchronized (ends) {
      if (streaming == handle && !closed) {
        return;
      }
      handle = streaming;
    }
    endsBy(streaming::cancel);
  }

  // --- signals of the client -------------------------------------------------------------------

  @Override
  public void onPartialResponse(String text) {
    signals.add(new Signal.Text(text));
  }

  @Override
  public void onPartialResponse(PartialResponse text, PartialResponseContext context) {
    endsBy(context.streamingHandle());
    onPartialResponse(text.text());
  }

  @Override
  public void onPartialThinking(PartialThinking thinking) {
    signals.add(new Signal.Thinking(thinking.text()));
  }

  @Override
  public void onPartialThinking(PartialThinking thinking, PartialThinkingContext context) {
    endsBy(context.streamingHandle());
    onPartialThinking(thinking);
  }

  @Override
  public void onPartialToolCall(PartialToolCall call) {
    signals.add(new Signal.Calling());
  }

  @Override
  public void onPartialToolCall(PartialToolCall call, PartialToolCallContext context) {
    endsBy(context.streamingHandle());
    onPartialToolCall(call);
  }

  @Override
  public void onCompleteToolCall(CompleteToolCall call) {
    signals.add(new Signal.Calling());
  }

  @Override
  public void onUnmappedRawEvent(Object event) {
    signals.add(new Signal.Alive());
  }

  @Override
  public void onCompleteResponse(@Nullable ChatResponse response) {
    signals.add(new Signal.Done(response));
  }

  @Override
  public void onError(Throwable thrown) {
    signals.add(new Signal.Broken(thrown));
  }
}
