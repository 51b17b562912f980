package io.fermata.persistence.directory;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Which entries of a directory are wanted: those for which everything said here is true. Begin with
 * {@link #of}.
 *
 * <p>Pages that follow each other by their cursors list every entry once, whatever is added or
 * changed meanwhile, except that an entry whose time changes before its turn has come moves to
 * where it then belongs: in {@link Order#ACTIVITY} to the first page, which is read already. {@link
 * Order#CREATION} misses none.
 */
public final class DirectoryQuery {

  private static final int DEFAULT_LIMIT = 50;
  private static final int MAX_STANDINGS = 16;

  /** What comes first in a list. */
  public enum Order {
    /** The latest {@link DirectoryEntry#activeAt()}. */
    ACTIVITY,
    /** The latest {@link DirectoryEntry#createdAt()}. */
    CREATION,
    /** The earliest {@link DirectoryEntry#since()}; the query must name standings. */
    STANDING;

    public boolean latestFirst() {
      return this != STANDING;
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

  /** The standings of which an entry must have one; empty for any. */
  public Set<String> standings() {
    return criteria.standings;
  }

  /** When the journals began. */
  public Span created() {
    return criteria.created;
  }

  /** Since when the journals have had their standing. */
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
   * What the name, a tag or an attribute's value must contain, in upper or lower case; null for
   * anything.
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

  public DirectoryQuery standing(Set<String> ways) {
    return with(draft -> draft.standings = ways);
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

  /** The criteria; changed before the query is made and never after. */
  private static final class Draft {
    final String kind;
    @Nullable String principal;
    @Nullable String name;
    @Nullable String session;
    Set<String> standings = Set.of();
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
      standings = from.standings;
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
      standings = Set.copyOf(standings);
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
      validateStandings();
      DirectoryLimits.tags(tags);
      DirectoryLimits.attributes(attributes);
      DirectoryLimits.page(limit);
      if (cursor != null) {
        DirectoryCursor.parse(cursor).requireOrder(order);
      }
    }

    private void validateStandings() {
      standings.forEach(DirectoryLimits::standing);
      if (standings.size() > MAX_STANDINGS || (order == Order.STANDING && standings.isEmpty())) {
        throw new IllegalArgumentException(
            "A query names up to %d standings, and one ordered by them at least one; it names %d"
                .formatted(MAX_STANDINGS, standings.size()));
      }
    }
  }

  /** Where the page begins, null for the beginning of the list. */
  public @Nullable DirectoryCursor begin() {
    return criteria.cursor == null ? null : DirectoryCursor.parse(criteria.cursor);
  }

  /** The page of entries that match and are in order; if there is one too many, others follow. */
  public DirectoryPage page(List<DirectoryEntry> entries) {
    if (entries.size() <= limit()) {
      return new DirectoryPage(entries, null);
    }
    DirectoryEntry last = entries.get(limit() - 1);
    return new DirectoryPage(
        entries.subList(0, limit()), DirectoryCursor.of(order(), last).encode());
  }

  @Override
  public String toString() {
    return "up to %d %s by %s: principal %s, name %s, session %s, standings %s since %s, created %s,"
            .formatted(
                limit(),
                kind(),
                order(),
                principal(),
                name(),
                session(),
                standings(),
                since(),
                created())
        + " tags %s, attributes %s, text %s, after %s"
            .formatted(tags(), attributes(), text(), cursor());
  }
}
