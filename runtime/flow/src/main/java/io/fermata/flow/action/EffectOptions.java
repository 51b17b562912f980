package io.fermata.flow.action;

import io.fermata.flow.event.Policy;
import io.fermata.flow.event.Retry;
import io.fermata.flow.json.Given;
import io.fermata.flow.json.Options;
import java.time.Duration;
import java.util.List;

/** How an action or an async validator is carried out, as an author says it. */
public final class EffectOptions {
  private Policy policy = Policy.DEFAULT;
  private List<String> reads = List.of();

  public EffectOptions() {}

  /** How long one attempt may take; one minute by default. */
  public EffectOptions timeout(Duration timeout) {
    policy = policy.timeout(timeout);
    return this;
  }

  /** Retries after a failure, with waits that double. Without this a failure stops the run. */
  public EffectOptions retry(int attempts, Duration firstWait) {
    return retry(Retry.of(attempts, firstWait));
  }

  public EffectOptions retry(Retry retry) {
    policy = policy.retry(retry);
    return this;
  }

  /**
   * The effect must not happen twice and the other side has no idempotency key. When its outcome is
   * unknown after a crash or a timeout, the run stops and waits for an explicit decision.
   */
  public EffectOptions once() {
    policy = policy.asOnce();
    return this;
  }

  /**
   * The effect may be repeated freely: it computes, or only reads. The run then writes its journal
   * once, after it, instead of before and after.
   */
  public EffectOptions idempotent() {
    policy = policy.asIdempotent();
    return this;
  }

  /**
   * What the action reads. It then sees nothing else of the state, so that the journal can say what
   * its writes rest on. Without this it is taken to rest on everything. Called again, it adds some.
   */
  public EffectOptions reads(String... fields) {
    reads = Options.plus(reads, Given.listed(fields));
    return this;
  }

  public List<String> reads() {
    return reads;
  }

  public Policy policy() {
    return policy;
  }
}
