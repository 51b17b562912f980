package io.fermata.examples.flows;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;

/**
 * Stands in for a bank: it keeps bookings in a file, one per line, confirms them after a delay, and
 * books once per idempotency key.
 */
public final class RefundLedger {
  private final Path file;
  private final Duration confirmsAfter;

  private RefundLedger(Path file, Duration confirmsAfter) {
    this.file = file;
    this.confirmsAfter = confirmsAfter;
  }

  /** A ledger whose file begins with the first booking. */
  public static RefundLedger at(Path file, Duration confirmsAfter) {
    return new RefundLedger(file, confirmsAfter);
  }

  /** Books, and returns the reference when the booking is confirmed. */
  public String book(String key, String order, int amount, String reason)
      throws InterruptedException {
    String reference =
        write(key, "%s\t%s\t%s\t%s".formatted(key, order, amount, onOneLine(reason)));
    Thread.sleep(confirmsAfter.toMillis());
    return reference;
  }

  private synchronized String write(String key, String line) {
    List<String> lines = bookings();
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).startsWith(key + "\t")) {
        return reference(i);
      }
    }
    try {
      Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException("The ledger " + file + " cannot be written", e);
    }
    return reference(lines.size());
  }

  /** All bookings, in the order they were made. */
  public synchronized List<String> bookings() {
    try {
      return Files.exists(file) ? Files.readAllLines(file) : List.of();
    } catch (IOException e) {
      throw new UncheckedIOException("The ledger " + file + " cannot be read", e);
    }
  }

  private static String reference(int line) {
    return "R" + (1001 + line);
  }

  private static String onOneLine(String text) {
    return text.replaceAll("\\s+", " ");
  }
}
