package io.fermata.session;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/** What the files in the folder of a SQLite store hold, of records also what is packed in them. */
final class StoreFiles {
  private static final int TRACE = 20;

  private final Path folder;
  private final Set<String> traces = new HashSet<>();

  StoreFiles(Path folder) {
    this.folder = folder;
  }

  /** The bytes of every file, and with them what its records and snapshots hold, by its name. */
  Map<String, String> texts() throws IOException {
    Map<String, String> texts = new TreeMap<>();
    for (Path file : files()) {
      String bytes = new String(Files.readAllBytes(file), ISO_8859_1);
      StringBuilder text = new StringBuilder(bytes);
      if (bytes.startsWith("SQLite format 3")) {
        for (byte[] record : records(file)) {
          text.append('\n').append(new String(Packing.unpacked(record), ISO_8859_1));
        }
      }
      texts.put(file.getFileName().toString(), text.toString());
    }
    return texts;
  }

  /**
   * The files in which a text is, or which have a trace of a record that held it when this was
   * asked before: a record that is no longer listed could not be unpacked any more.
   */
  List<String> with(String marker) throws IOException {
    List<String> found = new ArrayList<>();
    for (Map.Entry<String, String> file : texts().entrySet()) {
      if (file.getValue().contains(marker)
          || traces.stream().anyMatch(trace -> file.getValue().contains(trace))) {
        found.add(file.getKey());
      }
    }
    for (Path file : files()) {
      if (file.getFileName().toString().endsWith(".db")) {
        remember(file, marker);
      }
    }
    return found;
  }

  private void remember(Path file, String marker) throws IOException {
    for (byte[] record : records(file)) {
      String stored = new String(record, ISO_8859_1);
      if (new String(Packing.unpacked(record), ISO_8859_1).contains(marker)
          && stored.length() > TRACE) {
        traces.add(stored.substring(stored.length() - TRACE));
      }
    }
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files.filter(Files::isRegularFile).toList();
    }
  }

  private static List<byte[]> records(Path file) throws IOException {
    try (Connection db = DriverManager.getConnection("jdbc:sqlite:" + file);
        ResultSet row =
            db.createStatement()
                .executeQuery(
                    "select event_payload from event_journal"
                        + " union all select snapshot_payload from snapshot")) {
      List<byte[]> records = new ArrayList<>();
      while (row.next()) {
        records.add(row.getBytes(1));
      }
      return records;
    } catch (SQLException e) {
      throw new IOException(e);
    }
  }
}
