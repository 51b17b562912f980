package io.fermata.session.archive;

import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.StoredEntry;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Set;

/**
 * Entries that wait for the end of their archive before they are stored, in a temporary file, since
 * they may be more than the memory holds. The file is gone when the process ends, even if it is
 * killed: the system deletes it as soon as nobody has it open.
 */
final class EntrySpool implements Iterable<NewEntry>, AutoCloseable {
  private static final int BUFFER = 1 << 16;

  private final FileChannel file;
  private final DataOutputStream to;
  private int entries;

  private EntrySpool(FileChannel file) {
    this.file = file;
    this.to =
        new DataOutputStream(new BufferedOutputStream(Channels.newOutputStream(file), BUFFER));
  }

  static EntrySpool open() {
    try {
      Path path = Files.createTempFile("fermata-import-", null);
      return new EntrySpool(
          FileChannel.open(
              path,
              StandardOpenOption.READ,
              StandardOpenOption.WRITE,
              StandardOpenOption.DELETE_ON_CLOSE));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  void add(NewEntry entry) throws IOException {
    StoredEntry stored = entry.entry();
    to.writeLong(stored.seq());
    to.writeInt(stored.serializerId());
    to.writeUTF(stored.manifest());
    to.writeInt(stored.payload().length);
    to.write(stored.payload());
    to.writeLong(entry.at());
    to.writeInt(entry.tags().size());
    for (String tag : entry.tags()) {
      to.writeUTF(tag);
    }
    entries++;
  }

  /** All entries that were added. A second iterator ends the first. */
  @Override
  public Iterator<NewEntry> iterator() {
    try {
      to.flush();
      file.position(0);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    DataInputStream from =
        new DataInputStream(new BufferedInputStream(Channels.newInputStream(file), BUFFER));
    return new Iterator<>() {
      private int left = entries;

      @Override
      public boolean hasNext() {
        return left > 0;
      }

      @Override
      public NewEntry next() {
        if (left == 0) {
          throw new NoSuchElementException();
        }
        left--;
        try {
          return read(from);
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }
    };
  }

  private static NewEntry read(DataInputStream from) throws IOException {
    long seq = from.readLong();
    int serializer = from.readInt();
    String manifest = from.readUTF();
    byte[] payload = new byte[from.readInt()];
    from.readFully(payload);
    long at = from.readLong();
    Set<String> tags = new HashSet<>();
    for (int left = from.readInt(); left > 0; left--) {
      tags.add(from.readUTF());
    }
    return new NewEntry(new StoredEntry(seq, serializer, manifest, payload), at, tags);
  }

  @Override
  public void close() {
    try {
      file.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
