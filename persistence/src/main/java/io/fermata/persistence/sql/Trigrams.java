package io.fermata.persistence.sql;

import java.util.stream.IntStream;

/**
 * Every three successive characters of a text, each as a number of 23 bits. A text that contains
 * another has all its trigrams. The reverse does not hold, so what an index of trigrams finds is
 * checked.
 */
public final class Trigrams {
  private static final int SIZE = 3;

  /** Three factors and a prime: SQL can calculate them, too. */
  public static final long FIRST = 5_308_417;

  public static final long SECOND = 65_599;
  public static final long THIRD = 257;
  public static final long PRIME = 8_388_593;

  private Trigrams() {}

  /** The distinct trigrams in ascending order; none of a text of less than three characters. */
  public static int[] of(String text) {
    return IntStream.rangeClosed(0, text.length() - SIZE)
        .map(at -> number(text.charAt(at), text.charAt(at + 1), text.charAt(at + 2)))
        .sorted()
        .distinct()
        .toArray();
  }

  private static int number(char first, char second, char third) {
    return (int) ((first * FIRST + second * SECOND + third * THIRD) % PRIME);
  }
}
