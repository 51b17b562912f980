package io.fermata.flow;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;

/**
 * Where a run is: a node and the how-manieth visit to it. The visit keeps an answer given in one
 * pass of a loop from being taken for the next. Written {@code node#visit}.
 */
public record Place(String node, int visit) {
  @JsonCreator
  public static Place parse(String text) {
    int hash = text.lastIndexOf('#');
    return new Place(text.substring(0, hash), Integer.parseInt(text.substring(hash + 1)));
  }

  @Override
  @JsonValue
  public String toString() {
    return node + "#" + visit;
  }
}
