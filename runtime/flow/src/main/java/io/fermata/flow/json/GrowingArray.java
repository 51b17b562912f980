package io.fermata.flow.json;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.AbstractList;
import java.util.RandomAccess;

/**
 * An array that grew out of another by appending. It shares with it all that they have in common,
 * so that an element costs the same however many are there. Nobody may change it.
 */
@SuppressWarnings({"serial", "unchecked"}) // it is written as JSON; deepCopy is that of every array
public final class GrowingArray extends ArrayNode {
  private final transient Elements elements;

  private GrowingArray(Elements elements) {
    super(Json.MAPPER.getNodeFactory(), elements);
    this.elements = elements;
  }

  /** The array with an element more. */
  static ArrayNode append(ArrayNode array, JsonNode element) {
    Elements before =
        array instanceof GrowingArray growing ? growing.elements : new Elements(array);
    return new GrowingArray(before.plus(element));
  }

  /** How many elements, from the first on, two arrays are known to share without a look at them. */
  @SuppressWarnings("ReferenceEquality") // arrays are never changed: the same object is the same
  public static int shared(ArrayNode one, ArrayNode other) {
    if (one instanceof GrowingArray a && other instanceof GrowingArray b) {
      return a.elements.base == b.elements.base ? a.elements.shared(b.elements) : 0;
    } else if (one instanceof GrowingArray grown) {
      return grown.elements.base == other ? other.size() : 0;
    }
    return other instanceof GrowingArray ? shared(other, one) : 0;
  }

  /**
   * The elements of an array and those that were appended to it, in blocks that full blocks of a
   * level above hold.
   */
  private static final class Elements extends AbstractList<JsonNode> implements RandomAccess {
    private static final int BITS = 5;
    private static final int BLOCK = 1 << BITS;
    private static final Object[] NONE = {};

    private final ArrayNode base;
    private final int appended;

    /** The bits of an index that choose below the root. */
    private final int shift;

    private final Object[] root;
    private final Object[] last;

    Elements(ArrayNode base) {
      this(base, 0, BITS, NONE, NONE);
    }

    private Elements(ArrayNode base, int appended, int shift, Object[] root, Object[] last) {
      this.base = base;
      this.appended = appended;
      this.shift = shift;
      this.root = root;
      this.last = last;
    }

    private int inBlocks() {
      return appended - last.length;
    }

    @Override
    public int size() {
      return base.size() + appended;
    }

    @Override
    public JsonNode get(int index) {
      return index < base.size() ? base.get(index) : appended(index - base.size());
    }

    private JsonNode appended(int index) {
      if (index >= appended) {
        throw new IndexOutOfBoundsException(index);
      }
      Object[] block = index >= inBlocks() ? last : block(index);
      return (JsonNode) block[index & (BLOCK - 1)];
    }

    private Object[] block(int index) {
      Object[] block = root;
      for (int level = shift; level > 0; level -= BITS) {
        block = (Object[]) block[(index >>> level) & (BLOCK - 1)];
      }
      return block;
    }

    Elements plus(JsonNode element) {
      if (last.length < BLOCK) {
        return new Elements(base, appended + 1, shift, root, with(last, element));
      }
      Object[] next = {element};
      boolean full = inBlocks() == BLOCK << shift;
      return full
          ? new Elements(
              base, appended + 1, shift + BITS, new Object[] {root, path(last, shift)}, next)
          : new Elements(base, appended + 1, shift, hung(root, shift, last), next);
    }

    /** A level with a block in the first free place below it. */
    private Object[] hung(Object[] level, int bits, Object[] block) {
      int index = (inBlocks() >>> bits) & (BLOCK - 1);
      if (index == level.length) {
        return with(level, path(block, bits - BITS));
      }
      Object[] copy = level.clone();
      copy[index] = hung((Object[]) level[index], bits - BITS, block);
      return copy;
    }

    private static Object[] path(Object[] block, int bits) {
      return bits == 0 ? block : new Object[] {path(block, bits - BITS)};
    }

    private static Object[] with(Object[] block, Object element) {
      Object[] more = new Object[block.length + 1];
      System.arraycopy(block, 0, more, 0, block.length);
      more[block.length] = element;
      return more;
    }

    /** Whole blocks that both hold, without the rest. */
    int shared(Elements other) {
      int most = Math.min(inBlocks(), other.inBlocks());
      int same = shift == other.shift ? shared(root, other.root, shift, most) : 0;
      return base.size() + Math.min(same, most);
    }

    private static int shared(Object[] one, Object[] other, int bits, int most) {
      int same = 0;
      int common = Math.min(one.length, other.length);
      for (int i = 0; i < common && same < most; i++) {
        if (one[i] == other[i]) {
          same += 1 << bits;
        } else {
          return bits == BITS
              ? same
              : same + shared((Object[]) one[i], (Object[]) other[i], bits - BITS, most - same);
        }
      }
      return same;
    }
  }
}
