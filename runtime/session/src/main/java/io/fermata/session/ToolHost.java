package io.fermata.session;

import java.util.List;
import java.util.concurrent.CompletionStage;

/** What a transport needs of a host: which tools there are, and a way to call them. */
public interface ToolHost {
  /** The flows, each as one tool, in the order they were registered. */
  List<ToolContract> tools();

  /** The tools that render widgets, in the order they were registered. */
  List<DisplayTool> displays();

  /**
   * Calls a flow's tool. The stage never fails: what goes wrong is a reply whose status is {@code
   * error}. It completes on a thread kept for replies, which a caller may hold.
   *
   * @throws IllegalArgumentException if there is no flow with the call's name
   */
  CompletionStage<ToolReply> call(ToolCall call);

  /** Mints and recognises session handles. */
  Handles handles();
}
