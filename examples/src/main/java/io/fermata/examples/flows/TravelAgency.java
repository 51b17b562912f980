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
 * Stands in for external services: airlines and hotels that hold reservations, and a bank that
 * confirms a payment some time later. It loses everything with the process, and does everything
 * once per idempotency key.
 */
public final class TravelAgency {
  /** Something that can be booked, with its price per person. */
  public record Offer(String id, String what, int price) {}

  private static final Executor BANK =
      CompletableFuture.delayedExecutor(300, TimeUnit.MILLISECONDS);

  private final Map<String, String> holds = new LinkedHashMap<>();
  private final Map<String, Integer> charges = new LinkedHashMap<>();
  private int references;
  private BiConsumer<String, String> paid = (run, receipt) -> {};

  /** Sets the listener of payments, which is called with {@code (run, receipt)}. */
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

  /** Holds an offer until it is released. Returns the reference. */
  public synchronized String hold(String offer, String key) {
    return holds.computeIfAbsent(key, k -> offer + "-" + ++references);
  }

  public synchronized void release(String key) {
    holds.remove(key);
  }

  public synchronized List<String> holds() {
    return List.copyOf(holds.values());
  }

  /** Charges the bank, which confirms the payment later. */
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

  /** Makes the bank confirm the payment of a run, again if it did so before. */
  public synchronized void confirm(String run) {
    BiConsumer<String, String> listener = paid;
    BANK.execute(() -> listener.accept(run, "receipt-" + Integer.toHexString(run.hashCode())));
  }
}
