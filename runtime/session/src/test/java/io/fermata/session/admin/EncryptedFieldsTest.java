package io.fermata.session.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.SecretFields;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.session.Golden;
import io.fermata.session.journal.CallLog;
import io.fermata.session.journal.EncryptedEntry;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.EntryCipher;
import io.fermata.session.journal.EntryEncryption;
import io.fermata.session.journal.JournalSerializer;
import io.fermata.session.journal.RunEnd;
import io.fermata.session.journal.RunReply;
import io.fermata.session.journal.SessionState;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is encrypted comes back as it was, in its own journal and with its key, or not at all. */
@Tag("slow")
class EncryptedFieldsTest {
  private static final String ID = "pay|one";

  /** The bytes 0 to 31, for the golden file. */
  private static final String K1 = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

  private static final SecretFields FIELDS = SecretFields.of("card", "drivers.*.pin", "vip");

  private final JournalSerializer serializer = new JournalSerializer();

  private static Encryption encryption(String keys, EncryptedFields what) {
    return new Encryption(new EntryCipher(DataKeys.parse(keys)), what, Map.of("pay", FIELDS));
  }

  private static Entry<Event> step(Event... events) {
    RunReply reply = new RunReply(Json.object().put("question", "?"), Json.object());
    return Entry.of(1, 1, Entry.Origin.caller("ann"), List.of(events))
        .belongingTo(List.of("call"), reply)
        .waking(Entry.Wake.NOW);
  }

  /** As it is stored, with the kinds of its events. */
  private static JsonNode tree(Object plain) throws IOException {
    return JournalSerializer.tree(JournalSerializer.cbor(plain));
  }

  private Object written(Object stored) throws Exception {
    return serializer.fromBinary(serializer.toBinary(stored), serializer.manifest(stored));
  }

  private static String visible(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8).toLowerCase(Locale.ROOT);
  }

  // --- random records ---------------------------------------------------------------------------

  private static final List<String> WORDS =
      List.of("card", "note", "pin", "drivers", "a.b", "vip", "x", "value", "path", "data");

  private static String secret(Random random) {
    return "S" + Long.toString(random.nextLong() >>> 8, 36) + (random.nextBoolean() ? "ß\"" : "é");
  }

  private static JsonNode tree(Random random, List<String> secrets, int depth) {
    return switch (random.nextInt(depth == 0 ? 7 : 9)) {
      case 0 -> Json.tree(secrets.get(random.nextInt(secrets.size())));
      case 1 -> {
        String secret = secrets.get(random.nextInt(secrets.size()));
        yield Json.tree(
            "It is " + (random.nextBoolean() ? secret.toUpperCase(Locale.ROOT) : secret));
      }
      case 2 -> Json.tree(random.nextInt(5));
      case 3 -> Json.tree(random.nextBoolean());
      case 4 -> NullNode.instance;
      case 5 -> Json.tree(new BigDecimal(random.nextInt(100_000)).movePointLeft(3));
      case 6 -> Json.tree("word " + random.nextInt(9));
      case 7 -> {
        ArrayNode array = JsonNodeFactory.instance.arrayNode();
        for (int i = random.nextInt(4); i > 0; i--) {
          array.add(tree(random, secrets, depth - 1));
        }
        yield array;
      }
      default -> {
        ObjectNode object = Json.object();
        for (int i = random.nextInt(4); i > 0; i--) {
          String name =
              switch (random.nextInt(12)) {
                case 0 -> secrets.get(0);
                default -> WORDS.get(random.nextInt(WORDS.size()));
              };
          object.set(name, tree(random, secrets, depth - 1));
        }
        yield object;
      }
    };
  }

  private static Event[] events(Random random, List<String> secrets) {
    Place place = Place.parse("pay#2");
    return new Event[] {
      new Event.Started("run", 1, "f", "for " + secrets.get(0), 1),
      new Event.Answered(
          Map.of(
              "card", Json.tree(secrets.get(0)),
              "drivers", Json.tree(List.of(Map.of("pin", secrets.get(1), "town", "Graz"))),
              "vip", Json.tree(true)),
          null,
          2),
      new Event.Accepted(place, "vip", Json.tree(false), Map.of("note", tree(random, secrets, 3))),
      new Event.Rejected(place, "card", "not " + secrets.get(1)),
      new Event.Committed(
          place,
          List.of(
              new Write(Write.Verb.SET, "note", tree(random, secrets, 3)),
              new Write(Write.Verb.APPEND, "drivers", Json.tree(Map.of("pin", 7)))),
          List.of("card"),
          List.of(new Event.Emitted("told", tree(random, secrets, 3))),
          true,
          null),
      new Event.Completed(tree(random, secrets, 3), null, 3)
    };
  }

  @Test
  void whateverARecordHoldsItComesBackAndNoSecretOfItCanBeSeen() throws Exception {
    for (int seed = Integer.getInteger("seed", 1);
        seed <= Integer.getInteger("seed", 300);
        seed++) {
      Random random = new Random(seed);
      List<String> secrets = List.of(secret(random), secret(random));
      Entry<Event> step = step(events(random, secrets));
      Encryption encryption =
          encryption(
              K1, random.nextInt(4) == 0 ? EncryptedFields.EVERYTHING : EncryptedFields.SECRETS);
      EntryEncryption writing = encryption.of(ID);
      byte[] bytes = JournalSerializer.cbor(writing.stored(step));
      secrets.forEach(
          s ->
              assertThat(visible(bytes))
                  .doesNotContain(s.toLowerCase(Locale.ROOT).substring(0, 9)));
      Object read = written(writing.stored(step));
      assertThat(tree(encryption.decrypted(ID, read))).as("seed " + seed).isEqualTo(tree(step));
      assertThat(encryption.of(ID).<Event>entries().fromJournal(read, "").events().head())
          .isEqualTo(step);

      SessionState<RunState> state = SessionState.replay(SessionState.of(RunState.NONE), step);
      Object snapshot = written(writing.snapshots(state).toJournal(state));
      assertThat(visible(JournalSerializer.cbor(snapshot)))
          .doesNotContain(secrets.get(0).toLowerCase(Locale.ROOT).substring(0, 9));
      EntryEncryption reading = encryption.of(ID);
      Object again = reading.snapshots(SessionState.of(RunState.NONE)).fromJournal(snapshot);
      assertThat(tree(again)).as("seed " + seed).isEqualTo(tree(state));
      assertThat(reading.masked("x " + secrets.get(1) + " y")).isEqualTo("x [redacted] y");
    }
  }

  @Test
  void aMarkedFieldIsEncryptedWhateverItHolds() throws Exception {
    Entry<Event> step =
        step(
            new Event.Answered(Map.of("vip", Json.tree(true)), null, 2),
            new Event.Decided(
                Place.parse("a#1"),
                List.of(
                    new Event.Tried(
                        "r",
                        true,
                        List.of(
                            new Event.Seen("vip", Json.tree(true), "eq", Json.tree(true), true)))),
                List.of("b")));
    JsonNode tree =
        ((EncryptedEntry) encryption(K1, EncryptedFields.SECRETS).of(ID).stored(step)).tree();
    JsonNode answered = tree.path("events").path(0).path("values").path("vip");
    JsonNode seen = tree.path("events").path(1).path("tried").path(0).path("seen").path(0);
    assertThat(answered.isBinary()).isTrue();
    assertThat(seen.path("is").isBinary()).isTrue();
    assertThat(seen.path("than").isBinary()).isTrue();
  }

  /** The end of a task that returned a text, with those of the tasks before it. */
  private static Entry<Event> ended(String runId, String text, List<RunEnd.TaskEnd> earlier) {
    RunEnd end =
        new RunEnd(
            runId,
            1,
            RunState.Status.COMPLETED,
            List.of(),
            null,
            3,
            9L,
            true,
            List.copyOf(earlier));
    return Entry.<Event>of(2, 2, Entry.Origin.EFFECT, List.of())
        .belongingTo(List.of(), new RunReply(Json.tree(text), Json.object()))
        .ending(end);
  }

  @Test
  void theOutcomesOfEarlierTasksStayEncryptedWhenNothingButTheLastEndIsLeft() throws Exception {
    Encryption encryption = encryption(K1, EncryptedFields.SECRETS);
    SessionState<RunState> state = SessionState.of(RunState.NONE);
    @Nullable Object left = null;
    for (String run : List.of("one", "two", "three")) {
      String secret = "Scard-" + run;
      EntryEncryption woken = encryption.of(ID);
      if (left != null) {
        woken.entries().fromJournal(left, "");
      }
      woken.stored(
          step(
              new Event.Started(run, 1, "f", "why", 1),
              new Event.Answered(Map.of("card", Json.tree(secret)), null, 2)));
      List<RunEnd.TaskEnd> earlier = state.tasksAt(1);
      Entry<Event> ended = ended(run, "Of " + secret, earlier == null ? List.of() : earlier);
      state = SessionState.replay(state, ended);
      left = written(woken.stored(ended));
      assertThat(visible(JournalSerializer.cbor(left))).doesNotContain("scard");
    }

    Object last = Objects.requireNonNull(left);
    Entry<?> read = (Entry<?>) encryption.decrypted(ID, last);

    assertThat(Objects.requireNonNull(read.end()).earlierTasks())
        .extracting(task -> task.reply().body().asText())
        .containsExactly("Of Scard-one", "Of Scard-two");
    assertThat(encryption.of(ID).<Event>entries().fromJournal(last, "").events().head())
        .isEqualTo(read);
  }

  // --- keys and journals ------------------------------------------------------------------------

  @Test
  void aValueOpensInItsOwnJournalAloneAndUnchanged() {
    EntryCipher cipher = new EntryCipher(DataKeys.parse(K1));
    byte[] plain = "secret".getBytes(StandardCharsets.UTF_8);
    byte[] encrypted = cipher.encrypt(plain, ID);
    assertThat(cipher.decrypt(encrypted, ID)).isEqualTo(plain);
    assertThat(cipher.encrypt(plain, ID)).isNotEqualTo(encrypted);
    assertThatThrownBy(() -> cipher.decrypt(encrypted, "pay|two"))
        .isInstanceOf(EncryptionException.class)
        .hasMessageContaining("another journal");
    for (int i = 0; i < encrypted.length; i++) {
      byte[] changed = encrypted.clone();
      changed[i] ^= 1;
      assertThatThrownBy(() -> cipher.decrypt(changed, ID)).isInstanceOf(EncryptionException.class);
    }
    for (int length = 0; length < encrypted.length; length++) {
      byte[] cut = java.util.Arrays.copyOf(encrypted, length);
      assertThatThrownBy(() -> cipher.decrypt(cut, ID)).isInstanceOf(EncryptionException.class);
    }
  }

  @Test
  void theFirstKeyEncryptsAndAllOfThemDecrypt() {
    String k2 = DataKeys.generate("k2");
    byte[] plain = {1, 2, 3};
    byte[] old = new EntryCipher(DataKeys.parse(K1)).encrypt(plain, ID);
    EntryCipher rotated = new EntryCipher(DataKeys.parse(k2 + "," + K1));
    byte[] fresh = rotated.encrypt(plain, ID);
    assertThat(rotated.decrypt(old, ID)).isEqualTo(plain);
    assertThat(new EntryCipher(DataKeys.parse(k2)).decrypt(fresh, ID)).isEqualTo(plain);
    assertThatThrownBy(() -> new EntryCipher(DataKeys.parse(k2)).decrypt(old, ID))
        .isInstanceOfSatisfying(
            EncryptionException.class, e -> assertThat(e.code()).isEqualTo("key_missing"))
        .hasMessageContaining("key k1");
    assertThatThrownBy(() -> new EntryCipher(null).decrypt(old, ID)).hasMessageContaining("key k1");
  }

  @Test
  void keysAreReadFromTheEnvironmentOrAFileAndNeverRepeatedInAnError(@TempDir Path folder)
      throws IOException {
    Path file = folder.resolve("keys");
    Files.writeString(file, DataKeys.generate("new") + "\n" + K1 + "\n");
    assertThat(
            DataKeys.from(Map.of(DataKeys.FILE_VARIABLE, file.toString())).orElseThrow().current())
        .isEqualTo("new");
    assertThat(DataKeys.from(Map.of(DataKeys.VARIABLE, K1)).orElseThrow()).hasToString("keys [k1]");
    assertThat(DataKeys.from(Map.of(DataKeys.VARIABLE, " "))).isEmpty();
    assertThatThrownBy(() -> DataKeys.from(Map.of(DataKeys.VARIABLE, "k1")))
        .hasMessageContaining("FERMATA_KEYS cannot be used: Key number 1 has no id");
    String none = folder.resolve("none").toString();
    assertThatThrownBy(() -> DataKeys.from(Map.of(DataKeys.FILE_VARIABLE, none)))
        .hasMessage(
            "FERMATA_KEYS_FILE cannot be used: The key file does not exist: "
                + none
                + "; put it there, or name another");
    for (String wrong : List.of("k1", "k1:AAEC", "k 1:AAEC", "k1:***", K1 + "," + K1, ",")) {
      assertThatThrownBy(() -> DataKeys.parse(wrong))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageNotContaining("AAEC")
          .hasMessageNotContaining("***");
    }
    assertThatThrownBy(
            () ->
                EntryCipher.checked(
                    new KeyProvider() {
                      @Override
                      public String current() {
                        return "k9";
                      }

                      @Override
                      public byte[] key(String id) {
                        return new byte[16];
                      }
                    }))
        .hasMessageContaining("k9")
        .hasMessageContaining("32 bytes");
  }

  @Test
  void nothingIsEncryptedWithAKeyWhoseIdCouldNotBeReadBack() {
    String id = "k".repeat(128);
    EntryCipher rotated =
        new EntryCipher(
            new KeyProvider() {
              @Override
              public String current() {
                return id;
              }

              @Override
              public byte[] key(String id) {
                return new byte[32];
              }
            });
    assertThatThrownBy(() -> rotated.encrypt(new byte[1], ID))
        .isInstanceOf(EncryptionException.class)
        .hasMessageContaining(id);
  }

  // --- the format -------------------------------------------------------------------------------

  private static List<Object> samples() {
    Place place = Place.parse("pay#2");
    Entry<Event> step =
        step(
            new Event.Started("run", 1, "f", "why", 1),
            new Event.Answered(Map.of("card", Json.tree("Scard-one")), null, 2),
            new Event.Answered(Map.of("vip", Json.tree(true)), null, 2),
            new Event.Rejected(place, "note", "No Scard-one"),
            new Event.Committed(
                place,
                List.of(
                    new Write(Write.Verb.SET, "note", Json.tree(Map.of("scard-ONE", 1))),
                    new Write(Write.Verb.APPEND, "drivers", Json.tree(Map.of("pin", 12.50)))),
                List.of("card"),
                List.of(),
                true,
                null));
    RunReply reply = java.util.Objects.requireNonNull(step.reply());
    RunEnd end =
        new RunEnd(
            "run",
            1,
            RunState.Status.FAILED,
            List.of(),
            new RunEnd.Unclaimed(null, "Scard-one"),
            1,
            null,
            false,
            null);
    SessionState<RunState> state =
        new SessionState<>(
            RunState.NONE,
            null,
            new CallLog(Map.of("c", reply), List.of(), List.of(), null),
            false,
            new SessionState.Ended(end, null),
            null,
            null,
            List.of(Json.object().put("key", "card").put("value", "Scard-one")),
            null);
    return List.of(step, state);
  }

  private static <S> Object snapshot(EntryEncryption encryption, SessionState<S> state) {
    return encryption.snapshots(state).toJournal(state);
  }

  /** What this release writes of the samples, in parts and as a whole. */
  private List<String> fresh() {
    List<String> lines = new ArrayList<>();
    for (EncryptedFields what : EncryptedFields.values()) {
      EntryEncryption encrypting = encryption(K1, what).of(ID);
      for (Object plain : samples()) {
        Object stored =
            plain instanceof Entry<?> entry
                ? encrypting.stored(entry)
                : snapshot(encrypting, (SessionState<?>) plain);
        String bytes = Base64.getEncoder().encodeToString(JournalSerializer.cbor(stored));
        lines.add(serializer.manifest(stored) + " " + bytes);
      }
    }
    return lines;
  }

  @Test
  void whatTheFirstReleaseEncryptedIsStillOpened() throws Exception {
    if (Golden.writes()) {
      Golden.write("encrypted-1.txt", String.join("\n", fresh()));
    }
    List<String> lines = Golden.read("encrypted-1.txt").lines().toList();
    assertThat(lines).hasSize(4);
    for (int i = 0; i < lines.size(); i++) {
      String[] parts = lines.get(i).split(" ", 2);
      Object stored = serializer.fromBinary(Base64.getDecoder().decode(parts[1]), parts[0]);
      assertThat(stored).isInstanceOf(EncryptedEntry.class);
      assertThat(tree(encryption(K1, EncryptedFields.SECRETS).decrypted(ID, stored)))
          .isEqualTo(tree(samples().get(i % 2)));
    }
  }
}
