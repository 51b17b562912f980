package io.fermata.flow.json;

import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** One reason why a call's values were refused: which field, and what is wrong with it. */
public record Violation(String field, String message) {
  private static final Pattern ENDED = Pattern.compile("[.!?…]$");

  /** One sentence that names a cause and every violation behind it. */
  public static String listed(String cause, List<Violation> violations) {
    String listed =
        violations.stream()
            .map(v -> v.field() + " " + v.message())
            .collect(Collectors.joining("; ", cause + ": ", ""));
    return ENDED.matcher(listed).find() ? listed : listed + ".";
  }
}
