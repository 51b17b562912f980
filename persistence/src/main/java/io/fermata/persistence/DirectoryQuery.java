package io.fermata.persistence;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which entries of a directory are wanted: those for which everything said here is true. Begin with
 * {@link #of}.
 *
 * <p>Pages that follow each other by their cursors list every entry once, whatever is added or
 * changed meanwhile, except that in {@link Order#ACTIVITY} an entry that becomes active before its
 * turn has come moves to the first page, which is read already. {@link Order#CREATION} misses none.
 *
 * @param principal whom the journals belong to, null for anybody
 * @param name what they are named, null for anything
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
    Set<String> tags,
    Map<String, String> attributes,
    @Nullable String text,
    Order order,
    int limit,
    @Nullable String cursor) {

  private static final int USUAL_LIMIT = 50;

  /** What comes first in a list. */
  public enum Order {
    /** The latest {@link DirectoryEntry#activeAt()}. */
    ACTIVITY,
    /** The latest {@link DirectoryEntry#createdAt()}. */
    CREATION
  }

  public DirectoryQuery {
    tags = Set.copyOf(tags);
    attributes = Map.copyOf(attributes);
    DirectoryLimits.kind(kind);
    if (principal != null) {
      DirectoryLimits.principal(principal);
    }
    if (name != null) {
      DirectoryLimits.name(name);
    }
    if (text != null) {
      DirectoryLimits.text(text);
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
        kind, null, null, Set.of(), Map.of(), null, Order.ACTIVITY, USUAL_LIMIT, null);
  }

  public DirectoryQuery belongingTo(@Nullable String whom) {
    return new DirectoryQuery(kind, whom, name, tags, attributes, text, order, limit, cursor);
  }

  public DirectoryQuery named(@Nullable String what) {
    return new DirectoryQuery(kind, principal, what, tags, attributes, text, order, limit, cursor);
  }

  public DirectoryQuery tagged(String... required) {
    Set<String> all = new HashSet<>(tags);
    all.addAll(List.of(required));
    return new DirectoryQuery(kind, principal, name, all, attributes, text, order, limit, cursor);
  }

  public DirectoryQuery having(String attribute, String value) {
    Map<String, String> all = new HashMap<>(attributes);
    all.put(attribute, value);
    return new DirectoryQuery(kind, principal, name, tags, all, text, order, limit, cursor);
  }

  public DirectoryQuery containing(@Nullable String some) {
    return new DirectoryQuery(kind, principal, name, tags, attributes, some, order, limit, cursor);
  }

  public DirectoryQuery orderedBy(Order other) {
    return new DirectoryQuery(kind, principal, name, tags, attributes, text, other, limit, cursor);
  }

  public DirectoryQuery limitedTo(int most) {
    return new DirectoryQuery(kind, principal, name, tags, attributes, text, order, most, cursor);
  }

  public DirectoryQuery after(@Nullable String next) {
    return new DirectoryQuery(kind, principal, name, tags, attributes, text, order, limit, next);
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
