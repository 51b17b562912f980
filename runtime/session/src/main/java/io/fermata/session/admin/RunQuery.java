package io.fermata.session.admin;

import java.time.Instant;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A query of runs: a run matches if all criteria hold. Start with {@link #ALL}.
 *
 * @param principal the owner; null for any
 * @param session the whole name of the session; null for any
 * @param version the version of their flow; null for any
 * @param statuses the statuses that match; empty for any
 * @param tags tags that a run must all have
 * @param text a text in the flow's name, a tag or what it waits for; null for any
 * @param sandboxed whether to list the forks in sandboxes, which are in no other list
 */
public record RunQuery(
    @Nullable String flow,
    @Nullable String principal,
    @Nullable String session,
    @Nullable Integer version,
    Set<RunInfo.Status> statuses,
    Set<String> tags,
    @Nullable String text,
    Times times,
    Page page,
    boolean sandboxed) {

  /**
   * When a run started, and when its status began; null for any time.
   *
   * @param startedBefore the exclusive upper bound of the start time
   * @param before the status began before this time; for runs that wait longer than five minutes,
   *     pass the time five minutes ago
   */
  public record Times(
      @Nullable Instant startedFrom, @Nullable Instant startedBefore, @Nullable Instant before) {}

  /**
   * A page of the list.
   *
   * @param limit its size, 1 to 500
   * @param cursor null for the first page
   */
  public record Page(Order order, int limit, @Nullable String cursor) {}

  /** The order of a list. */
  public enum Order {
    /** The latest start first. */
    STARTED,
    /** The longest-lasting status first; without a status, only runs that have not ended. */
    LONGEST
  }

  /** The 50 runs that started last. */
  public static final RunQuery ALL =
      new RunQuery(
          null,
          null,
          null,
          null,
          Set.of(),
          Set.of(),
          null,
          new Times(null, null, null),
          new Page(Order.STARTED, 50, null),
          false);

  public RunQuery {
    statuses = Set.copyOf(statuses);
    tags = Set.copyOf(tags);
  }

  public RunQuery flow(@Nullable String name) {
    return with(draft -> draft.flow = name);
  }

  public RunQuery principal(@Nullable String whom) {
    return with(draft -> draft.principal = whom);
  }

  public RunQuery session(@Nullable String which) {
    return with(draft -> draft.session = which);
  }

  public RunQuery version(@Nullable Integer of) {
    return with(draft -> draft.version = of);
  }

  public RunQuery statuses(Set<RunInfo.Status> any) {
    return with(draft -> draft.statuses = any);
  }

  public RunQuery tags(Set<String> all) {
    return with(draft -> draft.tags = all);
  }

  public RunQuery text(@Nullable String some) {
    return with(draft -> draft.text = some);
  }

  public RunQuery started(@Nullable Instant from, @Nullable Instant until) {
    return with(draft -> draft.times = new Times(from, until, times.before));
  }

  public RunQuery before(@Nullable Instant moment) {
    return with(draft -> draft.times = new Times(times.startedFrom, times.startedBefore, moment));
  }

  public RunQuery order(Order first) {
    return with(draft -> draft.page = new Page(first, page.limit, page.cursor));
  }

  public RunQuery limit(int most) {
    return with(draft -> draft.page = new Page(page.order, most, page.cursor));
  }

  public RunQuery cursor(@Nullable String at) {
    return with(draft -> draft.page = new Page(page.order, page.limit, at));
  }

  /** The forks in sandboxes instead of the runs. */
  public RunQuery sandboxed(boolean only) {
    return with(draft -> draft.sandboxed = only);
  }

  private RunQuery with(Consumer<Draft> change) {
    Draft draft = new Draft(this);
    change.accept(draft);
    return draft.build();
  }

  private static final class Draft {
    @Nullable String flow;
    @Nullable String principal;
    @Nullable String session;
    @Nullable Integer version;
    Set<RunInfo.Status> statuses;
    Set<String> tags;
    @Nullable String text;
    Times times;
    Page page;
    boolean sandboxed;

    Draft(RunQuery from) {
      flow = from.flow;
      principal = from.principal;
      session = from.session;
      version = from.version;
      statuses = from.statuses;
      tags = from.tags;
      text = from.text;
      times = from.times;
      page = from.page;
      sandboxed = from.sandboxed;
    }

    RunQuery build() {
      return new RunQuery(
          flow, principal, session, version, statuses, tags, text, times, page, sandboxed);
    }
  }
}
