package io.fermata.agent.state;

import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.databind.annotation.JsonTypeIdResolver;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.Reasoning;
import io.fermata.agent.model.Usage;
import io.fermata.flow.json.KindNames;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What an effect of the source of a fork ended with, which the same effect of the fork takes
 * instead of being performed.
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.CUSTOM, property = "r")
@JsonTypeIdResolver(KindNames.class)
public sealed interface SourceResult {

  /**
   * The reply of a model.
   *
   * @param asked what it was asked; asked otherwise it might reply otherwise
   * @param reasoning what its provider wants back with its calls; null for nothing
   */
  record Reply(
      RequestDigest asked,
      @Nullable String text,
      List<RequestedCall> calls,
      String model,
      String finish,
      Usage usage,
      @Nullable Reasoning reasoning)
      implements SourceResult {}

  /**
   * What a call, scheduled work or code of a side did to the thread.
   *
   * @param wanted a checksum of what was to be done, as something else under this id may be
   * @param returned what a call returned; null for other work
   */
  record Work(int wanted, List<ThreadEvent.Change> changes, @Nullable ToolResult returned)
      implements SourceResult {}

  /** A summary of older messages, up to one of them. */
  record Summary(String summary, String upTo, String model, Usage usage) implements SourceResult {}
}
