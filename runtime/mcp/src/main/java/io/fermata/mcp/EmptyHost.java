package io.fermata.mcp;

import io.fermata.session.ToolHost;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.Handles;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** A host without flows. Its handles and signatures are invalid after a restart. */
public final class EmptyHost implements ToolHost {
  private final Handles handles = Handles.ofProcess();

  @Override
  public List<ToolContract> tools() {
    return List.of();
  }

  @Override
  public List<DisplayTool> displays() {
    return List.of();
  }

  @Override
  public CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress) {
    throw new IllegalArgumentException("There is no flow named " + call.tool());
  }

  @Override
  public Handles handles() {
    return handles;
  }
}
