package io.fermata.persistence.directory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** How much a directory takes. */
final class DirectoryLimitsTest {

  private static DirectoryEntry entry(
      String id, String kind, String principal, String name, long seq) {
    return new DirectoryEntry(id, kind, principal, name, seq, 0, 0, Set.of(), Map.of());
  }

  private static DirectoryEntry entry(Set<String> tags, Map<String, String> attributes) {
    return new DirectoryEntry("a", "thread", "", "", 0, 0, 0, tags, attributes);
  }

  private static Set<String> tags(int count) {
    return IntStream.range(0, count)
        .mapToObj(tag -> "tag" + tag)
        .collect(Collectors.toUnmodifiableSet());
  }

  private static Map<String, String> attributes(int count) {
    return tags(count).stream().collect(Collectors.toMap(Function.identity(), tag -> ""));
  }

  private static void refused(ThrowingCallable what, String message) {
    assertThatThrownBy(what).isInstanceOf(IllegalArgumentException.class).hasMessage(message);
  }

  @Test
  void anEntryUpToTheLimitsIsTaken() {
    assertThat(entry("i".repeat(1024), "k".repeat(64), "p".repeat(256), "n".repeat(256), 0))
        .isNotNull();
    assertThat(entry(tags(32), attributes(32))).isNotNull();
    assertThat(entry(Set.of("t".repeat(64)), Map.of("a".repeat(64), "v".repeat(1024)))).isNotNull();
  }

  @Test
  void whatIsBlankOrTooLongIsNamedWithItsLimit() {
    refused(
        () -> entry(" ", "thread", "", "", 0),
        "The persistence id is blank; use 1 to 1024 characters");
    refused(() -> entry("a", "", "", "", 0), "The kind is blank; use 1 to 64 characters");
    refused(
        () -> entry("a", "thread", "p".repeat(257), "", 0),
        "The principal \""
            + "p".repeat(40)
            + "\u2026\" has 257 characters, at most 256 are allowed; shorten it");
    refused(
        () -> entry("a", "thread", "", "n".repeat(257), 0),
        "The name \""
            + "n".repeat(40)
            + "\u2026\" has 257 characters, at most 256 are allowed; shorten it");
    refused(
        () -> entry("a", "thread", "", "", -1),
        "The sequence number -1 of a is below 0; pass that of a record");
  }

  @Test
  void tagsAreBoundedInNumberAndLength() {
    refused(
        () -> entry(tags(33), Map.of()), "There are 33 tags, at most 32 are allowed; remove some");
    refused(() -> entry(Set.of(""), Map.of()), "The tag is blank; use 1 to 64 characters");
    refused(
        () -> DirectoryQuery.of("thread").tagged("t".repeat(65)),
        "The tag \""
            + "t".repeat(40)
            + "\u2026\" has 65 characters, at most 64 are allowed; shorten it");
  }

  @Test
  void attributesAreBoundedInNumberAndLength() {
    refused(
        () -> entry(Set.of(), attributes(33)),
        "There are 33 attributes, at most 32 are allowed; remove some");
    refused(
        () -> entry(Set.of(), Map.of("", "value")),
        "The name of an attribute is blank; use 1 to 64 characters");
    refused(
        () -> DirectoryQuery.of("thread").having("lang", "v".repeat(1025)),
        "The value of the attribute \"lang\" \""
            + "v".repeat(40)
            + "\u2026\" has 1025 characters, at most 1024 are allowed; shorten it");
  }

  @Test
  void aPageHasOneToFiveHundredEntries() {
    for (int limit : new int[] {0, 501}) {
      refused(
          () -> DirectoryQuery.of("thread").limitedTo(limit),
          "A page of "
              + limit
              + " entries is refused; request 1 to 500 and continue with the cursor");
    }
  }
}
