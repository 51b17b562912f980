package io.fermata.flow;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds given texts in others, in upper or lower case: an Aho-Corasick automaton. It reads a text
 * once, however many texts it looks for and however alike they are.
 */
final class TextSearch {
  private static final int ROOT = 0;
  private static final char LAST_ASCII = '\u007f';

  private final List<String> sought;
  private final int size;

  // Each node of the trie has the first of its children here, and the others in the map.
  private final char[] firstLabel;
  private final int[] firstChild;
  private final Map<Long, Integer> otherChildren = new HashMap<>();

  /** The node of the longest end of what led to a node that the trie has, too. */
  private final int[] fallback;

  private final int[] depth;

  /** The length of the longest sought text that what led to a node ends with. */
  private final int[] longest;

  private int nodes = 1;

  TextSearch(List<String> sought) {
    this.sought = List.copyOf(sought);
    this.size = size(sought);
    this.firstLabel = new char[size + 1];
    this.firstChild = new int[size + 1];
    this.fallback = new int[size + 1];
    this.depth = new int[size + 1];
    this.longest = new int[size + 1];
    grow();
  }

  /** How many characters texts have together. */
  static int size(List<String> texts) {
    return texts.stream().mapToInt(String::length).sum();
  }

  List<String> sought() {
    return sought;
  }

  int size() {
    return size;
  }

  /** All texts grow at once, as a node needs the shorter ones for its fallback. */
  private void grow() {
    List<String> longestFirst =
        sought.stream().sorted(Comparator.comparingInt(String::length).reversed()).toList();
    int[] reached = new int[longestFirst.size()];
    int growing = reached.length;
    for (int length = 1; growing > 0; length++) {
      for (int i = 0; i < growing; i++) {
        reached[i] = grown(reached[i], folded(longestFirst.get(i).charAt(length - 1)));
      }
      while (growing > 0 && longestFirst.get(growing - 1).length() == length) {
        growing--;
        longest[reached[growing]] = length;
      }
    }
  }

  private int grown(int node, char label) {
    int known = child(node, label);
    if (known != ROOT) {
      return known;
    }
    int child = nodes++;
    depth[child] = depth[node] + 1;
    fallback[child] = node == ROOT ? ROOT : next(fallback[node], label);
    longest[child] = longest[fallback[child]];
    if (firstChild[node] == ROOT) {
      firstLabel[node] = label;
      firstChild[node] = child;
    } else {
      otherChildren.put(key(node, label), child);
    }
    return child;
  }

  /** The child of a node; the root if it has none of that label. */
  private int child(int node, char label) {
    if (firstLabel[node] == label) {
      return firstChild[node];
    }
    return otherChildren.isEmpty() ? ROOT : otherChildren.getOrDefault(key(node, label), ROOT);
  }

  private static long key(int node, char label) {
    return (long) node << Character.SIZE | label;
  }

  private int next(int node, char label) {
    int from = node;
    int next = child(from, label);
    while (next == ROOT && from != ROOT) {
      from = fallback[from];
      next = child(from, label);
    }
    return next;
  }

  /**
   * Notes where the sought texts end.
   *
   * @param cut where the text was cut off, so that the beginning of a sought text counts as well; 0
   *     if it is whole
   * @param lengths gets for each position the length of the longest that ends before it, if that is
   *     more than it has there
   */
  void find(String text, int cut, int[] lengths) {
    int node = ROOT;
    for (int end = 1; end <= text.length(); end++) {
      node = next(node, folded(text.charAt(end - 1)));
      lengths[end] = Math.max(lengths[end], end == cut ? depth[node] : longest[node]);
    }
  }

  /** As {@link String#equalsIgnoreCase} compares them. */
  private static char folded(char c) {
    if (c <= LAST_ASCII) {
      return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
    }
    return Character.toLowerCase(Character.toUpperCase(c));
  }
}
