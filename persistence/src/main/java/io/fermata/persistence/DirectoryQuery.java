package io.fermata.persistence;

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
 *
 * @param principal whom the journals belong to, null for anybody
 * @param name what they are named, null for anything
 * @param session the session that they belong to, null for any
 * @param standings the ways of which they stand in one; empty for any
 * @param created when they began
 * @param since since when they stand as they do
 * @param tags all the tags they have at least
 * @param attributes the values of attributes they have at least
 * @param text what occurs in their name, a tag or the value of an attribute, in upper or lower
 *     case; null for anything
 * @param limit how many entries a page has at most, 1 to 500
 * @param cursor {@link DirectoryPage#next()} of the page before in the same order, null for the
 *     first
 */
public record DirectoryQuery(
    String kind,
    @Nullable String principal,
    @Nullable String name,
    @Nullable String session,
    Set<String> standings,
    Span created,
    Span since,
    Set<String> tags,
    Map<String, String> attributes,
    @Nullable String text,
    Order order,
    int limit,
    @Nullable String cursor) {

  private static final int USUAL_LIMIT = 50;
  private static final int MOST_STANDINGS = 16;

  /** What comes first in a list. */
  public enum Order {
    /** The latest {@link DirectoryEntry#activeAt()}. */
    ACTIVITY,
    /** The latest {@link DirectoryEntry#createdAt()}. */
    CREATION,
    /** The earliest {@link DirectoryEntry#since()}; the query says how the entries stand. */
    STANDING;

    boolean latestFirst() {
      return this != STANDING;
    }
  }

  public DirectoryQuery {
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
    standings.forEach(DirectoryLimits::standing);
    if (standings.size() > MOST_STANDINGS || (order == Order.STANDING && standings.isEmpty())) {
      throw new IllegalArgumentException(
          "A query names up to %d standings, and one ordered by them at least one; it names %d"
              .formatted(MOST_STANDINGS, standings.size()));
    }
    DirectoryLimits.tags(tags);
    DirectoryLimits.attributes(attributes);
    DirectoryLimits.page(limit);
    if (cursor != null) {
      DirectoryCursor.parse(cursor).requireOrder(order);
    }
  }

  /** The 50 entries of a kind that were active last. */
  public static DirectoryQuery of(String kind) {
    return new DirectoryQuery(
        kind,
        null,
        null,
        null,
        Set.of(),
        Span.ALWAYS,
        Span.ALWAYS,
        Set.of(),
        Map.of(),
        null,
        Order.ACTIVITY,
        USUAL_LIMIT,
        null);
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
    Set<String> all = new HashSet<>(tags);
    all.addAll(List.of(required));
    return with(draft -> draft.tags = all);
  }

  public DirectoryQuery having(String attribute, String value) {
    Map<String, String> all = new HashMap<>(attributes);
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
    Draft draft = new Draft(this);
    change.accept(draft);
    return draft.build();
  }

  private static final class Draft {
    final String kind;
    @Nullable String principal;
    @Nullable String name;
    @Nullable String session;
    Set<String> standings;
    Span created;
    Span since;
    Set<String> tags;
    Map<String, String> attributes;
    @Nullable String text;
    Order order;
    int limit;
    @Nullable String cursor;

    Draft(DirectoryQuery from) {
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

    DirectoryQuery build() {
      return new DirectoryQuery(
          kind,
          principal,
          name,
          session,
          standings,
          created,
          since,
          tags,
          attributes,
          text,
          order,
          limit,
          cursor);
    }
  }

  /** Where the page begins, null for the beginning of the list. */
  @Nullable DirectoryCursor begin() {
    return cursor == null ? null : DirectoryCursor.parse(cursor);
  }

  /** The page of entries that match and are in order; if there is one too many, others follow. */
  DirectoryPage page(List<DirectoryEntry> entries) {
    if (entries.size() <= limit) {
      return new DirectoryPage(entries, null);
    }
    DirectoryEntry last = entries.get(limit - 1);
    return new DirectoryPage(entries.subList(0, limit), DirectoryCursor.of(order, last).encode());
  }
}
