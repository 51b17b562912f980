package io.fermata.session.journal;

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

/**
 * What the files in the folder of a SQLite store hold, whether it is still listed or only left
 * behind in a page or in the log.
 */
public final class StoreFiles {
  private static final int TRACE = 20;

  private final Path folder;
  private final Set<String> traces = new HashSet<>();

  public StoreFiles(Path folder) {
    this.folder = folder;
  }

  /** The bytes of every file, and of every entry, which may lie across pages, by its path. */
  Map<String, String> texts() throws IOException {
    Map<String, String> texts = new TreeMap<>();
    for (Path file : files()) {
      byte[] bytes = Files.readAllBytes(file);
      StringBuilder text = new StringBuilder(new String(bytes, ISO_8859_1));
      if (isDatabase(file)) {
        records(file).forEach(record -> text.append('\n').append(text(record)));
      }
      texts.put(folder.relativize(file).toString(), text.toString());
    }
    return texts;
  }

  /** Every record and snapshot that is there. */
  public List<String> records() throws IOException {
    List<String> records = new ArrayList<>();
    for (Path file : databases()) {
      records(file).forEach(record -> records.add(text(record)));
    }
    return records;
  }

  /**
   * The files in which a text is, or which have a trace of a record that held it when this was
   * asked before: of a record that lay across pages only parts may be left.
   */
  public List<String> with(String marker) throws IOException {
    List<String> found = new ArrayList<>();
    texts()
        .forEach(
            (file, text) -> {
              if (text.contains(marker) || traces.stream().anyMatch(text::contains)) {
                found.add(file);
              }
            });
    for (Path file : databases()) {
      for (byte[] record : records(file)) {
        String stored = text(record);
        if (stored.contains(marker) && stored.length() > TRACE) {
          traces.add(stored.substring(stored.length() - TRACE));
        }
      }
    }
    return found;
  }

  private static String text(byte[] record) {
    return new String(record, ISO_8859_1);
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files.filter(Files::isRegularFile).toList();
    }
  }

  private List<Path> databases() throws IOException {
    return files().stream().filter(StoreFiles::isDatabase).toList();
  }

  private static boolean isDatabase(Path file) {
    return file.getFileName().toString().endsWith(".db");
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
