package io.fermata.examples.flows;

import java.time.LocalDate;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * Stands in for services of others: airlines and hotels that hold what they are asked for, and a
 * bank that says some time later that it has been paid. It forgets everything with the process, and
 * does once what it is asked twice under the same key.
 */
public final class TravelAgency {
  /** Something that can be booked, with its price a head. */
  public record Offer(String id, String what, int price) {}

  private static final Executor BANK =
      CompletableFuture.delayedExecutor(300, TimeUnit.MILLISECONDS);

  private final Map<String, String> holds = new LinkedHashMap<>();
  private final Map<String, Integer> charges = new LinkedHashMap<>();
  private BiConsumer<String, String> paid = (run, receipt) -> {};

  /** Has somebody told, as {@code (run, receipt)}, when the bank has been paid. */
  public synchronized void whenPaid(BiConsumer<String, String> listener) {
    paid = listener;
  }

  public List<Offer> flights(String city, LocalDate day) {
    return List.of(
        new Offer("morning", "to " + city + " on " + day + ", 07:10", 180),
        new Offer("evening", "to " + city + " on " + day + ", 19:45", 120));
  }

  public List<Offer> hotels(String city) {
    return List.of(
        new Offer("grand", "Grand Hotel " + city, 320), new Offer("inn", city + " Inn", 90));
  }

  /** Keeps something until it is released. Returns the reference. */
  public synchronized String hold(String offer, String key) {
    return holds.computeIfAbsent(key, k -> offer + "-" + (holds.size() + 1));
  }

  public synchronized void release(String key) {
    holds.remove(key);
  }

  public synchronized List<String> holds() {
    return List.copyOf(holds.values());
  }

  /** Asks the bank for money; it tells later that it has it. */
  public synchronized void charge(String run, int amount, String key) {
    charges.put(key, amount);
    confirm(run);
  }

  public synchronized void refund(String key) {
    charges.remove(key);
  }

  public synchronized int charged() {
    return charges.values().stream().mapToInt(Integer::intValue).sum();
  }

  /** Has the bank say again that a run has been paid. */
  public synchronized void confirm(String run) {
    BiConsumer<String, String> listener = paid;
    BANK.execute(() -> listener.accept(run, "receipt-" + Integer.toHexString(run.hashCode())));
  }
}
