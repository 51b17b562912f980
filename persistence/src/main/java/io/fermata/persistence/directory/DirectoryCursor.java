package io.fermata.persistence.directory;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.fermata.persistence.directory.DirectoryQuery.Order;
import java.util.Base64;
import java.util.Comparator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The position of an entry in a list; the next page starts after it. */
public record DirectoryCursor(Order order, long at, String persistenceId) {

  private static final Comparator<DirectoryCursor> EARLIEST_FIRST =
      Comparator.comparingLong(DirectoryCursor::at).thenComparing(DirectoryCursor::persistenceId);

  private static final Pattern FORM =
      Pattern.compile("(ACTIVITY|CREATION|STATUS):(-?\\d{1,19}):(.+)", Pattern.DOTALL);

  public static DirectoryCursor of(Order order, DirectoryEntry entry) {
    return new DirectoryCursor(order, time(order, entry), entry.persistenceId());
  }

  public static Comparator<DirectoryCursor> in(Order order) {
    return order.latestFirst() ? EARLIEST_FIRST.reversed() : EARLIEST_FIRST;
  }

  private static long time(Order order, DirectoryEntry entry) {
    return switch (order) {
      case ACTIVITY -> entry.activeAt();
      case CREATION -> entry.createdAt();
      case STATUS -> entry.since();
    };
  }

  String encode() {
    String text = order + ":" + at + ":" + persistenceId;
    return Base64.getUrlEncoder().withoutPadding().encodeToString(text.getBytes(UTF_8));
  }

  static DirectoryCursor parse(String cursor) {
    try {
      Matcher parts = FORM.matcher(new String(Base64.getUrlDecoder().decode(cursor), UTF_8));
      if (parts.matches()) {
        DirectoryLimits.persistenceId(parts.group(3));
        return new DirectoryCursor(
            Order.valueOf(parts.group(1)), Long.parseLong(parts.group(2)), parts.group(3));
      }
    } catch (IllegalArgumentException damaged) {
      throw unknown(damaged);
    }
    throw unknown(null);
  }

  private static IllegalArgumentException unknown(@Nullable Throwable cause) {
    return new IllegalArgumentException(
        "The cursor does not come from a page of this directory; omit it to start again", cause);
  }

  void requireOrder(Order wanted) {
    if (order != wanted) {
      throw new IllegalArgumentException(
          "The cursor is of a list ordered by "
              + order
              + " and not by "
              + wanted
              + "; omit it to start again");
    }
  }
}
