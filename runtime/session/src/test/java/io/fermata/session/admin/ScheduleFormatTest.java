package io.fermata.session.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.session.journal.JournalSerializer;
import io.fermata.session.journal.ScheduleEntry;
import java.util.Base64;
import org.junit.jupiter.api.Test;

/** The format of a schedule's journal is a promise, as that of a session's is. */
class ScheduleFormatTest {
  private static final ScheduleEntry RECORD =
      new ScheduleEntry(1_780_000_000_500L, "0 3 * * * Europe/Berlin", 1_780_000_000_000L, true);

  private static final String FIRST_RELEASE =
      "v2JhdBsAAAGecESJ9GZyaHl0aG13MCAzICogKiAqIEV1cm9wZS9CZXJsaW5kdXBUbxsAAAGecESIAGhzdGFydGluZ/X/";

  private final JournalSerializer serializer = new JournalSerializer();

  @Test
  void aRecordIsReadBackAsItWasWritten() throws Exception {
    assertThat(serializer.fromBinary(serializer.toBinary(RECORD), serializer.manifest(RECORD)))
        .isEqualTo(RECORD);
  }

  @Test
  void aRecordOfTheFirstReleaseIsStillRead() throws Exception {
    assertThat(serializer.fromBinary(Base64.getDecoder().decode(FIRST_RELEASE), "schedule:1"))
        .as(
            "it would be written %s",
            Base64.getEncoder().encodeToString(serializer.toBinary(RECORD)))
        .isEqualTo(RECORD);
  }
}
