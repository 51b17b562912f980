package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Texts;
import io.fermata.flow.observe.Occurrence;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A value or a decision of a run, with what led to it, or with what came of it: a node of the tree
 * that a {@link Trace} answers with.
 *
 * @param subject the field's path, or the node that decided
 * @param value the value of the field then; null if there was none
 * @param moment when it came about; null for what never did
 * @param text what happened, in words
 * @param reasons what it rests on, or what rests on it
 */
public record Because(
    Kind kind,
    String subject,
    @Nullable JsonNode value,
    @Nullable Occurrence moment,
    String text,
    List<Because> reasons) {

  /** What a node of the tree is about. */
  public enum Kind {
    /** The client gave it. */
    ANSWER,
    /** A validator normalised an answer, or drew something from it. */
    VALIDATION,
    /** It is the default of a question that was left open. */
    DEFAULT,
    /** A step's action wrote it. */
    ACTION,
    SIGNAL,
    /** A sub-flow was given it. */
    INPUT,
    /** A sub-flow gave it. */
    OUTPUT,
    /** Branches brought it when they became one. */
    JOIN,
    /** A correction went back to it. */
    RESET,
    /** It was carried over from an earlier version. */
    MIGRATION,
    /** A decision sent the run there, or looked at it. */
    DECISION,
    /** Nobody has written it. */
    UNWRITTEN,
    /** It is explained elsewhere in the tree. */
    REPEATED,
    /** The tree ends here because it has become too deep or too large. */
    TRUNCATED
  }

  /** The tree as indented lines, one for each node, whatever it quotes. */
  public String text(String indent) {
    StringBuilder lines = new StringBuilder(indent).append(Texts.visible(text)).append('\n');
    reasons.forEach(reason -> lines.append(reason.text(indent + "  ")));
    return lines.toString();
  }

  /** Whether some of the tree was left out. */
  public boolean truncated() {
    return kind == Kind.TRUNCATED || reasons.stream().anyMatch(Because::truncated);
  }

  @Override
  public String toString() {
    return text("");
  }
}
