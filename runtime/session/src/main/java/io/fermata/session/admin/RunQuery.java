package io.fermata.session.admin;

import io.fermata.flow.json.Limits;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.directory.Span;
import io.fermata.session.key.SessionKey;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A query of runs: a run matches if all criteria hold. Start with {@link #ALL}.
 *
 * @param version the version of their flow; null for any
 * @param statuses the statuses that match; empty for any
 * @param tags tags that a run must all have
 * @param sandboxed whether to list the forks in sandboxes, which are in no other list
 * @param others adds the other criteria to a query of the directory, and which page is listed
 */
public record RunQuery(
    @Nullable Integer version,
    Set<RunInfo.Status> statuses,
    Set<String> tags,
    Order order,
    boolean sandboxed,
    UnaryOperator<DirectoryQuery> others) {

  /** The order of a list. */
  public enum Order {
    /** The latest start first. */
    STARTED,
    /** The longest-lasting status first; without a status, only runs that have not ended. */
    LONGEST
  }

  /** The 50 runs that started last. */
  public static final RunQuery ALL =
      new RunQuery(null, Set.of(), Set.of(), Order.STARTED, false, query -> query);

  public RunQuery {
    statuses = Set.copyOf(Objects.requireNonNull(statuses, "statuses"));
    tags = Set.copyOf(Objects.requireNonNull(tags, "tags"));
    Objects.requireNonNull(order, "order");
    Objects.requireNonNull(others, "others");
  }

  public RunQuery flow(@Nullable String name) {
    return with(query -> query.named(name));
  }

  /** The runs of an owner. */
  public RunQuery principal(@Nullable String whom) {
    return with(query -> query.belongingTo(lookup(whom)));
  }

  /** The runs of a session, by its whole name. */
  public RunQuery session(@Nullable String which) {
    return with(query -> query.inSession(lookup(which)));
  }

  public RunQuery version(@Nullable Integer of) {
    return new RunQuery(of, statuses, tags, order, sandboxed, others);
  }

  public RunQuery statuses(Set<RunInfo.Status> any) {
    return new RunQuery(version, any, tags, order, sandboxed, others);
  }

  public RunQuery tags(Set<String> all) {
    return new RunQuery(version, statuses, all, order, sandboxed, others);
  }

  /** Those with a text in the flow's name, a tag or what they wait for. */
  public RunQuery text(@Nullable String some) {
    return with(query -> query.containing(some));
  }

  /**
   * The runs that started in a time.
   *
   * @param until the exclusive upper bound
   */
  public RunQuery started(@Nullable Instant from, @Nullable Instant until) {
    return with(query -> query.created(new Span(millis(from), millis(until))));
  }

  /**
   * The runs that have had their status for longer than this.
   *
   * @throws IllegalArgumentException if no moment lies so far back
   */
  public RunQuery longerThan(@Nullable Duration time) {
    if (time != null && (time.isNegative() || time.compareTo(Limits.TIME) > 0)) {
      throw new IllegalArgumentException(
          "longer than %s; give 0 to %s days, such as PT5M".formatted(time, Limits.TIME.toDays()));
    }
    return before(time == null ? null : Instant.now().minus(time));
  }

  /** The runs whose status began before a moment. */
  public RunQuery before(@Nullable Instant moment) {
    return with(query -> query.since(new Span(null, millis(moment))));
  }

  public RunQuery order(Order first) {
    return new RunQuery(version, statuses, tags, first, sandboxed, others);
  }

  /** The size of a page, 1 to 500. */
  public RunQuery limit(int most) {
    return with(query -> query.limitedTo(most));
  }

  /** The page that a cursor names; null for the first. */
  public RunQuery cursor(@Nullable String at) {
    return with(query -> query.after(at));
  }

  /** The forks in sandboxes instead of the runs. */
  public RunQuery sandboxed(boolean only) {
    return new RunQuery(version, statuses, tags, order, only, others);
  }

  private RunQuery with(UnaryOperator<DirectoryQuery> more) {
    return new RunQuery(
        version, statuses, tags, order, sandboxed, query -> more.apply(others.apply(query)));
  }

  private static @Nullable String lookup(@Nullable String name) {
    return name == null ? null : SessionKey.lookup(name);
  }

  private static @Nullable Long millis(@Nullable Instant moment) {
    return moment == null ? null : Long.valueOf(moment.toEpochMilli());
  }
}
