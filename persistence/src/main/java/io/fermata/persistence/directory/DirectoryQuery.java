package io.fermata.persistence.directory;

import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A query of a directory: an entry matches if all its criteria hold. Start with {@link #of}.
 *
 * <p>Consecutive pages list every entry once, even if entries are added or changed in between. One
 * exception: an entry whose time changes before it was listed moves to its new position, in {@link
 * Order#ACTIVITY} to the first page, which has been read already. {@link Order#CREATION} misses
 * none.
 */
public final class DirectoryQuery {

  private static final int DEFAULT_LIMIT = 50;
  private static final int MAX_STATUSES = 16;

  /** The order of a list. */
  public enum Order {
    /** The latest {@link DirectoryEntry#activeAt()} first. */
    ACTIVITY,
    /** The latest {@link DirectoryEntry#createdAt()} first. */
    CREATION,
    /** The earliest {@link DirectoryEntry#since()} first; the query must name statuses. */
    STATUS;

    public boolean latestFirst() {
      return this != STATUS;
    }
  }

  private final Draft criteria;

  private DirectoryQuery(Draft criteria) {
    criteria.validate();
    this.criteria = criteria;
  }

  /** The 50 entries of a kind that were active last. */
  public static DirectoryQuery of(String kind) {
    return new DirectoryQuery(new Draft(kind));
  }

  public String kind() {
    return criteria.kind;
  }

  /** The owner of the journals, null for any. */
  public @Nullable String principal() {
    return criteria.principal;
  }

  /** The name of the journals, null for any. */
  public @Nullable String name() {
    return criteria.name;
  }

  /** The session that the journals belong to, null for any. */
  public @Nullable String session() {
    return criteria.session;
  }

  /** The statuses that match; empty for any. */
  public Set<String> statuses() {
    return criteria.statuses;
  }

  /** When the journals began. */
  public Span created() {
    return criteria.created;
  }

  /** When their status began. */
  public Span since() {
    return criteria.since;
  }

  /** Tags that an entry must have. */
  public Set<String> tags() {
    return criteria.tags;
  }

  /** Attributes that an entry must have. */
  public Map<String, String> attributes() {
    return criteria.attributes;
  }

  /**
   * A text that the name, a tag or an attribute's value must contain, ignoring case; null for any.
   */
  public @Nullable String text() {
    return criteria.text;
  }

  public Order order() {
    return criteria.order;
  }

  /** How many entries a page has at most, 1 to 500. */
  public int limit() {
    return criteria.limit;
  }

  /** {@link DirectoryPage#next()} of the previous page in the same order, null for the first. */
  public @Nullable String cursor() {
    return criteria.cursor;
  }

  public DirectoryQuery belongingTo(@Nullable String whom) {
    return with(draft -> draft.principal = whom);
  }

  public DirectoryQuery named(@Nullable String what) {
    return with(draft -> draft.name = what);
  }

  public DirectoryQuery inSession(@Nullable String which) {
    return with(draft -> draft.session = which);
  }

  public DirectoryQuery statuses(Set<String> any) {
    return with(draft -> draft.statuses = any);
  }

  public DirectoryQuery created(Span when) {
    return with(draft -> draft.created = when);
  }

  public DirectoryQuery since(Span when) {
    return with(draft -> draft.since = when);
  }

  public DirectoryQuery tagged(String... required) {
    Set<String> all = new HashSet<>(criteria.tags);
    all.addAll(List.of(required));
    return with(draft -> draft.tags = all);
  }

  public DirectoryQuery having(String attribute, String value) {
    Map<String, String> all = new HashMap<>(criteria.attributes);
    all.put(attribute, value);
    return with(draft -> draft.attributes = all);
  }

  public DirectoryQuery containing(@Nullable String some) {
    return with(draft -> draft.text = some);
  }

  public DirectoryQuery orderedBy(Order other) {
    return with(draft -> draft.order = other);
  }

  public DirectoryQuery limitedTo(int most) {
    return with(draft -> draft.limit = most);
  }

  public DirectoryQuery after(@Nullable String next) {
    return with(draft -> draft.cursor = next);
  }

  private DirectoryQuery with(Consumer<Draft> change) {
    Draft draft = new Draft(criteria);
    change.accept(draft);
    return new DirectoryQuery(draft);
  }

  /** The criteria; never changed once the query exists. */
  private static final class Draft {
    final String kind;
    @Nullable String principal;
    @Nullable String name;
    @Nullable String session;
    Set<String> statuses = Set.of();
    Span created = Span.ALWAYS;
    Span since = Span.ALWAYS;
    Set<String> tags = Set.of();
    Map<String, String> attributes = Map.of();
    @Nullable String text;
    Order order = Order.ACTIVITY;
    int limit = DEFAULT_LIMIT;
    @Nullable String cursor;

    Draft(String kind) {
      this.kind = kind;
    }

    Draft(Draft from) {
      kind = from.kind;
      principal = from.principal;
      name = from.name;
      session = from.session;
      statuses = from.statuses;
      created = from.created;
      since = from.since;
      tags = from.tags;
      attributes = from.attributes;
      text = from.text;
      order = from.order;
      limit = from.limit;
      cursor = from.cursor;
    }

    void validate() {
      statuses = Set.copyOf(statuses);
      tags = Set.copyOf(tags);
      attributes = Map.copyOf(attributes);
      DirectoryLimits.kind(kind);
      if (principal != null) {
        DirectoryLimits.principal(principal);
      }
      if (name != null) {
        DirectoryLimits.name(name);
      }
      if (session != null) {
        DirectoryLimits.session(session);
      }
      if (text != null) {
        DirectoryLimits.text(text);
      }
      validateStatuses();
      DirectoryLimits.tags(tags);
      DirectoryLimits.attributes(attributes);
      DirectoryLimits.page(limit);
      if (cursor != null) {
        DirectoryCursor.parse(cursor).requireOrder(order);
      }
    }

    private void validateStatuses() {
      statuses.forEach(DirectoryLimits::status);
      if (statuses.size() > MAX_STATUSES || (order == Order.STATUS && statuses.isEmpty())) {
        throw new IllegalArgumentException(
            "A query names up to %s statuses, and one ordered by them at least one; it names %s"
                .formatted(MAX_STATUSES, statuses.size()));
      }
    }
  }

  /** Where the page starts, null for the start of the list. */
  public @Nullable DirectoryCursor begin() {
    return criteria.cursor == null ? null : DirectoryCursor.parse(criteria.cursor);
  }

  /**
   * The page of some matches, in any order; if there is one more than the limit, another page
   * follows.
   *
   * @param searchedTo how far the list was searched; null for its end
   */
  public DirectoryPage page(List<DirectoryEntry> matches, @Nullable DirectoryCursor searchedTo) {
    Comparator<DirectoryCursor> order = DirectoryCursor.in(order());
    List<DirectoryEntry> page =
        matches.stream()
            .map(entry -> Map.entry(DirectoryCursor.of(order(), entry), entry))
            .filter(at -> searchedTo == null || order.compare(at.getKey(), searchedTo) <= 0)
            .sorted(Map.Entry.comparingByKey(order))
            .map(Map.Entry::getValue)
            .toList();
    if (page.size() <= limit()) {
      return new DirectoryPage(page, searchedTo == null ? null : searchedTo.encode());
    }
    DirectoryEntry last = page.get(limit() - 1);
    return new DirectoryPage(page.subList(0, limit()), DirectoryCursor.of(order(), last).encode());
  }

  @Override
  public String toString() {
    return "up to %s %s by %s: principal %s, name %s, session %s, statuses %s since %s, created %s,"
            .formatted(
                limit(),
                kind(),
                order(),
                principal(),
                name(),
                session(),
                statuses(),
                since(),
                created())
        + " tags %s, attributes %s, text %s, after %s"
            .formatted(tags(), attributes(), text(), cursor());
  }
}
