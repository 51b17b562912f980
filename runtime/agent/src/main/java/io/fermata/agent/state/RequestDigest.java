package io.fermata.agent.state;

import com.fasterxml.jackson.annotation.JsonFormat;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a model was asked, in a few bytes: enough to notice that it is asked something else, too
 * little to say what. A part is null where it depends on what no journal has.
 *
 * <p>A digest confirms a guess at a short text. So it is part of an entry of the thread, which is
 * encrypted as a whole where the thread may hold secrets, and no variable of the host is in it.
 * What a hook fetches from outside is.
 *
 * @param instructions a digest of the instructions, with the summary of older messages
 * @param messages the messages after them
 * @param tools the tools that are offered, in any order, and whether one must be called
 */
@JsonFormat(shape = JsonFormat.Shape.ARRAY)
@JsonPropertyOrder({"instructions", "messages", "tools"})
public record RequestDigest(@Nullable Integer instructions, @Nullable Part messages, Part tools) {
  /**
   * Several things of a kind.
   *
   * @param count how many there are
   */
  @JsonFormat(shape = JsonFormat.Shape.ARRAY)
  @JsonPropertyOrder({"count", "digest"})
  public record Part(int count, int digest) {}

  /** Whether these are other instructions, as far as both are known. */
  public boolean instructsOtherwise(RequestDigest other) {
    return differ(instructions, other.instructions);
  }

  /** Whether these are other messages, as far as both are known. */
  public boolean showsOtherwise(RequestDigest other) {
    return differ(messages, other.messages);
  }

  /** Whether other tools are offered. */
  public boolean offersOtherwise(RequestDigest other) {
    return !tools.equals(other.tools);
  }

  /** Whether nothing is known to differ. */
  public boolean fits(RequestDigest other) {
    return !instructsOtherwise(other) && !showsOtherwise(other) && !offersOtherwise(other);
  }

  private static boolean differ(@Nullable Object one, @Nullable Object other) {
    return one != null && other != null && !Objects.equals(one, other);
  }
}
