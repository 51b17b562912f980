package io.fermata.flow.event;

import java.time.Duration;

/**
 * How an effect is carried out: how long it may take, how often it is tried, and what a crash in
 * the middle of it means.
 *
 * @param timeout how long one attempt may take
 * @param retry what follows a failure
 * @param once an attempt whose outcome is unknown is never repeated by itself
 * @param idempotent the work may be repeated freely, so it needs no journal entry before it runs
 */
public record Policy(Duration timeout, Retry retry, boolean once, boolean idempotent) {
  /** A minute, one attempt. */
  public static final Policy DEFAULT = new Policy(Duration.ofMinutes(1), Retry.NEVER, false, false);

  public Policy timeout(Duration value) {
    return new Policy(value, retry, once, idempotent);
  }

  public Policy retry(Retry value) {
    return new Policy(timeout, value, once, idempotent);
  }

  public Policy asOnce() {
    return new Policy(timeout, retry, true, idempotent);
  }

  public Policy asIdempotent() {
    return new Policy(timeout, retry, once, true);
  }
}
