package io.fermata.session.admin;

import java.time.Instant;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A query of runs: a run matches if all criteria hold. Start with {@link #ALL}.
 *
 * @param principal the owner; null for any
 * @param version the version of their flow; null for any
 * @param statuses the statuses that match; empty for any
 * @param tags tags that a run must all have
 * @param text a text in the flow's name, a tag, the session or what it waits for; null for any
 * @param startedFrom the earliest start time
 * @param startedBefore the exclusive upper bound of the start time
 * @param before the status began before this time; for runs that wait longer than five minutes,
 *     pass the time five minutes ago
 * @param limit the page size, 1 to 500
 * @param cursor the cursor of the page; null for the first
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
    @Nullable Instant startedFrom,
    @Nullable Instant startedBefore,
    @Nullable Instant before,
    Order order,
    int limit,
    @Nullable String cursor,
    boolean sandboxed) {

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
          null,
          null,
          null,
          Order.STARTED,
          50,
          null,
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
    return with(
        draft -> {
          draft.startedFrom = from;
          draft.startedBefore = until;
        });
  }

  public RunQuery before(@Nullable Instant moment) {
    return with(draft -> draft.before = moment);
  }

  public RunQuery order(Order first) {
    return with(draft -> draft.order = first);
  }

  public RunQuery limit(int most) {
    return with(draft -> draft.limit = most);
  }

  public RunQuery cursor(@Nullable String page) {
    return with(draft -> draft.cursor = page);
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
    @Nullable Instant startedFrom;
    @Nullable Instant startedBefore;
    @Nullable Instant before;
    Order order;
    int limit;
    @Nullable String cursor;
    boolean sandboxed;

    Draft(RunQuery from) {
      flow = from.flow;
      principal = from.principal;
      session = from.session;
      version = from.version;
      statuses = from.statuses;
      tags = from.tags;
      text = from.text;
      startedFrom = from.startedFrom;
      startedBefore = from.startedBefore;
      before = from.before;
      order = from.order;
      limit = from.limit;
      cursor = from.cursor;
      sandboxed = from.sandboxed;
    }

    RunQuery build() {
      return new RunQuery(
          flow,
          principal,
          session,
          version,
          statuses,
          tags,
          text,
          startedFrom,
          startedBefore,
          before,
          order,
          limit,
          cursor,
          sandboxed);
    }
  }
}
