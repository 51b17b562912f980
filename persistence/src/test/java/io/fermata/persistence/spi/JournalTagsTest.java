package io.fermata.persistence.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Times as tags. */
final class JournalTagsTest {

  @Test
  void theOrderOfTheTagsIsTheOrderOfTheTimes() {
    assertThat(LongStream.of(0, 9, 10, 1_800_000_000_000L, Long.MAX_VALUE))
        .extracting(JournalTags::due)
        .isSorted()
        .doesNotHaveDuplicates();
  }

  @Test
  void aTagGivesItsTimeBack() {
    LongStream.of(0, 1, 1_800_000_000_000L, Long.MAX_VALUE)
        .forEach(at -> assertThat(JournalTags.dueAt(JournalTags.due(at))).hasValue(at));
    assertThat(JournalTags.dueAt(JournalTags.due(-1))).hasValue(0);
    assertThat(JournalTags.dueAt(JournalTags.UNFINISHED)).isEmpty();
  }
}
