package io.fermata.session.archive;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SequenceWriter;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.dataformat.cbor.CBORFactory;
import com.fasterxml.jackson.dataformat.cbor.databind.CBORMapper;
import io.fermata.flow.json.Json;
import io.fermata.persistence.spi.NewEntry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Iterator;

/**
 * Entries that wait for the end of their archive before they are stored, in a temporary file, since
 * they may be more than the memory holds. The file is gone when the process ends, even if it is
 * killed: the system deletes it as soon as nobody has it open.
 */
final class EntrySpool implements Iterable<NewEntry>, AutoCloseable {
  private static final ObjectMapper CBOR =
      CBORMapper.builder(Json.unlimited(CBORFactory.builder()))
          .disable(SerializationFeature.FLUSH_AFTER_WRITE_VALUE)
          .disable(JsonParser.Feature.AUTO_CLOSE_SOURCE)
          .build();

  private final FileChannel file;
  private final SequenceWriter to;

  private EntrySpool(FileChannel file) throws IOException {
    this.file = file;
    this.to = CBOR.writerFor(NewEntry.class).writeValues(Channels.newOutputStream(file));
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
    to.write(entry);
  }

  /** All entries that were added. A second iterator ends the first. */
  @Override
  public Iterator<NewEntry> iterator() {
    try {
      to.flush();
      file.position(0);
      return CBOR.readerFor(NewEntry.class).readValues(Channels.newInputStream(file));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
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
