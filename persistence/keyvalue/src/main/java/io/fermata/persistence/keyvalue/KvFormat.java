package io.fermata.persistence.keyvalue;

import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.Serialized;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.spi.DamagedException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInput;
import java.io.DataInputStream;
import java.io.DataOutput;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.zip.CRC32C;
import org.apache.pekko.persistence.SnapshotMetadata;

/**
 * The binary format of journals and the index in a key-value store. Each value ends with a CRC-32C
 * of what is before it.
 */
final class KvFormat {

  private static final int MAGIC = 0x464b56;
  private static final int VERSION = 1;

  private interface Writing {
    void to(DataOutput out) throws IOException;
  }

  private interface Parser<T> {
    T from(DataInput in) throws IOException;
  }

  private KvFormat() {}

  // --- a journal -------------------------------------------------------------------------------

  static byte[] journal(KvDocument document) {
    return bytes(
        out -> {
          out.writeLong(document.tip().seq());
          out.writeInt(document.tip().checksum());
          out.writeBoolean(document.tip().deleted());
          out.writeLong(document.lostTo());
          SerializedSnapshot snapshot = document.snapshot();
          out.writeBoolean(snapshot != null);
          if (snapshot != null) {
            out.writeLong(snapshot.sequenceNr());
            out.writeLong(snapshot.key().timestamp());
            snapshot.state().write(out);
            out.writeInt(snapshot.last());
            out.writeInt(snapshot.checksum());
          }
          out.writeInt(document.records().size());
          for (SerializedEntry record : document.records()) {
            record(out, record);
          }
          DirectoryEntry entry = document.entry();
          out.writeBoolean(entry != null);
          if (entry != null) {
            entry(out, entry);
          }
        });
  }

  private static void record(DataOutput out, SerializedEntry record) throws IOException {
    out.writeLong(record.sequenceNr());
    out.writeUTF(record.writer());
    out.writeLong(record.timestamp());
    texts(out, record.tags());
    record.event().write(out);
    out.writeInt(record.checksum());
    Integer previous = record.previous();
    out.writeBoolean(previous != null);
    if (previous != null) {
      out.writeInt(previous);
    }
  }

  static KvDocument journal(String persistenceId, byte[] bytes) {
    return read(
        bytes,
        "the journal " + persistenceId,
        in -> {
          JournalTip last = new JournalTip(in.readLong(), in.readInt());
          JournalTip tip = in.readBoolean() ? last.withoutContent() : last;
          long lostTo = in.readLong();
          SerializedSnapshot snapshot = in.readBoolean() ? snapshot(in, persistenceId) : null;
          int count = in.readInt();
          List<SerializedEntry> records = new ArrayList<>(count);
          for (int i = 0; i < count; i++) {
            records.add(
                new SerializedEntry(
                    persistenceId,
                    in.readLong(),
                    in.readUTF(),
                    in.readLong(),
                    texts(in),
                    Serialized.read(in),
                    in.readInt(),
                    in.readBoolean() ? in.readInt() : null));
          }
          DirectoryEntry entry = in.readBoolean() ? entry(in, persistenceId) : null;
          return new KvDocument(tip, lostTo, snapshot, List.copyOf(records), entry);
        });
  }

  private static SerializedSnapshot snapshot(DataInput in, String persistenceId)
      throws IOException {
    long sequenceNr = in.readLong();
    long timestamp = in.readLong();
    return new SerializedSnapshot(
        new SnapshotMetadata(persistenceId, sequenceNr, timestamp),
        Serialized.read(in),
        in.readInt(),
        in.readInt());
  }

  private static void entry(DataOutput out, DirectoryEntry entry) throws IOException {
    out.writeUTF(entry.kind());
    out.writeUTF(entry.principal());
    out.writeUTF(entry.name());
    out.writeLong(entry.seq());
    out.writeLong(entry.createdAt());
    out.writeLong(entry.activeAt());
    out.writeUTF(entry.session());
    out.writeUTF(entry.statusName());
    out.writeLong(entry.since());
    texts(out, entry.tags());
    out.writeInt(entry.attributes().size());
    for (Map.Entry<String, String> attribute : new TreeMap<>(entry.attributes()).entrySet()) {
      out.writeUTF(attribute.getKey());
      out.writeUTF(attribute.getValue());
    }
  }

  private static DirectoryEntry entry(DataInput in, String persistenceId) throws IOException {
    String kind = in.readUTF();
    String principal = in.readUTF();
    String name = in.readUTF();
    long seq = in.readLong();
    long createdAt = in.readLong();
    long activeAt = in.readLong();
    String session = in.readUTF();
    String status = in.readUTF();
    long since = in.readLong();
    Set<String> tags = texts(in);
    int count = in.readInt();
    Map<String, String> attributes = new LinkedHashMap<>();
    for (int i = 0; i < count; i++) {
      attributes.put(in.readUTF(), in.readUTF());
    }
    return new DirectoryEntry(
            persistenceId, kind, principal, name, seq, createdAt, activeAt, tags, attributes)
        .in(session, status, since);
  }

  // --- a part of the index ---------------------------------------------------------------------

  static byte[] marks(Map<String, KvMark> marks) {
    return bytes(
        out -> {
          out.writeInt(marks.size());
          for (Map.Entry<String, KvMark> mark : new TreeMap<>(marks).entrySet()) {
            out.writeUTF(mark.getKey());
            out.writeLong(mark.getValue().at());
            out.writeUTF(mark.getValue().host());
            out.writeLong(mark.getValue().since());
          }
        });
  }

  static Map<String, KvMark> marks(String key, byte[] bytes) {
    return read(
        bytes,
        "the index " + key,
        in -> {
          int count = in.readInt();
          Map<String, KvMark> marks = new LinkedHashMap<>();
          for (int i = 0; i < count; i++) {
            marks.put(in.readUTF(), new KvMark(in.readLong(), in.readUTF(), in.readLong()));
          }
          return marks;
        });
  }

  // --- what they are made of -------------------------------------------------------------------

  private static void texts(DataOutput out, Set<String> texts) throws IOException {
    out.writeInt(texts.size());
    for (String text : new TreeSet<>(texts)) {
      out.writeUTF(text);
    }
  }

  private static Set<String> texts(DataInput in) throws IOException {
    int count = in.readInt();
    Set<String> texts = new LinkedHashSet<>();
    for (int i = 0; i < count; i++) {
      texts.add(in.readUTF());
    }
    return texts;
  }

  private static byte[] bytes(Writing content) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try {
      DataOutputStream out = new DataOutputStream(bytes);
      out.writeInt(MAGIC << 8 | VERSION);
      content.to(out);
      out.writeInt(checksum(bytes.toByteArray(), bytes.size()));
    } catch (IOException tooLong) {
      throw new IllegalArgumentException(tooLong.getMessage(), tooLong);
    }
    return bytes.toByteArray();
  }

  private static int checksum(byte[] bytes, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, length);
    return (int) crc.getValue();
  }

  private static void requireIntact(byte[] bytes, String what) {
    int end = bytes.length - Integer.BYTES;
    if (end < 0 || ByteBuffer.wrap(bytes).getInt(end) != checksum(bytes, end)) {
      throw new DamagedException("The value of " + what, "it was altered");
    }
  }

  private static <T> T read(byte[] bytes, String what, Parser<T> content) {
    try {
      DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
      int head = in.readInt();
      if (head >>> 8 != MAGIC) {
        throw new UnreadableValue(
            "The value of "
                + what
                + " was not written by Fermata; use a separate store, or a separate"
                + " database in it, for Fermata");
      }
      if ((head & 0xff) != VERSION) {
        throw new UnreadableValue(
            "The value of "
                + what
                + " has format "
                + (head & 0xff)
                + ", this release reads "
                + VERSION
                + "; use the release that wrote it or a newer one");
      }
      requireIntact(bytes, what);
      return content.from(in);
    } catch (IOException cut) {
      throw new DamagedException("The value of " + what, "it ends too early", cut);
    }
  }
}
