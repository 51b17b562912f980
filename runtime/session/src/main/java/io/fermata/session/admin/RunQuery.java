package io.fermata.session.admin;

import java.time.Instant;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Which runs are wanted: those for which everything said here is true. Begin with {@link #ALL}.
 *
 * @param principal whom they belong to; null for anybody
 * @param version the version of their flow; null for any
 * @param statuses how they stand, in one of these ways; empty for any
 * @param tags those that a run has to have, all of them
 * @param text to be found in the flow's name, a tag, the session or what is waited for; null for
 *     any
 * @param startedFrom the first moment at which they may have started
 * @param startedBefore the first moment after that
 * @param before they have had their status since before this moment: those that wait for longer
 *     than five minutes have waited since before five minutes ago
 * @param limit how many a page has at most, 1 to 500
 * @param cursor names the page; null for the first
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
    @Nullable String cursor) {

  /** What comes first. */
  public enum Order {
    /** The run that started last. */
    STARTED,
    /** The run that has had its status for longest; of those that go on, if no status is named. */
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
          null);

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
          cursor);
    }
  }
}
