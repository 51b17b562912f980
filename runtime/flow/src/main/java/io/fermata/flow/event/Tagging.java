package io.fermata.flow.event;

import io.fermata.flow.json.Texts;
import java.util.ArrayList;
import java.util.List;

/**
 * What a step does to the tags of its run: they mark runs for those who look for them, and mean
 * nothing to the flow. A tag stays until it is taken away, also when answers are corrected.
 *
 * @param added those that the run has from now on
 * @param removed those that it no longer has
 */
public record Tagging(List<String> added, List<String> removed) {
  /** Changes nothing. */
  public static final Tagging NONE = new Tagging(List.of(), List.of());

  /** How many tags a run has at most. */
  public static final int MOST = 16;

  /** How many characters a tag has at most. */
  public static final int LENGTH = 64;

  private static final int SHOWN = 40;

  public Tagging {
    added = List.copyOf(added);
    removed = List.copyOf(removed);
  }

  public Tagging add(String given) {
    String tag = Texts.sound(given);
    requireTag(tag);
    return new Tagging(with(added, tag), without(removed, tag));
  }

  public Tagging remove(String given) {
    String tag = Texts.sound(given);
    requireTag(tag);
    return new Tagging(without(added, tag), with(removed, tag));
  }

  public boolean none() {
    return added.isEmpty() && removed.isEmpty();
  }

  public boolean fits(List<String> tags) {
    return of(tags).size() <= MOST;
  }

  /** The tags of a run afterwards, the oldest first. */
  public List<String> of(List<String> tags) {
    List<String> after = new ArrayList<>(tags);
    after.removeAll(removed);
    added.stream().filter(tag -> !after.contains(tag)).forEach(after::add);
    return List.copyOf(after);
  }

  private static List<String> with(List<String> tags, String tag) {
    return tags.contains(tag) ? tags : RunState.plus(tags, tag);
  }

  private static List<String> without(List<String> tags, String tag) {
    return tags.stream().filter(other -> !other.equals(tag)).toList();
  }

  private static void requireTag(String tag) {
    if (tag.isBlank()
        || tag.length() > LENGTH
        || !tag.equals(tag.strip())
        || tag.chars().anyMatch(Character::isISOControl)) {
      String shown = tag.length() > SHOWN ? tag.substring(0, SHOWN) + "…" : tag;
      throw new IllegalArgumentException(
          "\"%s\" is no tag: it has 1 to %s characters, no space around it, and is one line"
              .formatted(shown, LENGTH));
    }
  }
}
