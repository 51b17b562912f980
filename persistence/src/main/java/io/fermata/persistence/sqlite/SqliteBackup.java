package io.fermata.persistence.sqlite;

import io.fermata.persistence.spi.StoreException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * Copies the file of a SQLite store at one moment. It only reads: a host may have the file open, in
 * this process or another, and is not delayed.
 */
final class SqliteBackup {

  private SqliteBackup() {}

  static void of(SqliteFile file, Path to) {
    if (!Files.exists(file.path())) {
      throw new StoreException(file.name() + " does not exist; name the file of a store");
    }
    Path part = to.resolveSibling(to.getFileName() + ".part");
    try {
      if (Files.exists(to)) {
        throw new FileAlreadyExistsException(to.toString());
      }
      // The copy contains the same data, so only its owner may read it from the start.
      Files.createFile(part, SqliteFile.ownerOnly(part));
      try {
        copy(file, part);
        sync(part);
        Files.move(part, to, StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(part);
      }
    } catch (FileAlreadyExistsException present) {
      throw new StoreException(
          present.getMessage() + " exists already; choose another file", present);
    } catch (IOException failed) {
      throw new StoreException(
          to + " cannot be written: " + SqliteFile.reason(failed) + "; choose another file",
          failed);
    } catch (SQLException failed) {
      throw new StoreException(
          file.name() + " cannot be copied to " + to + ": " + failed.getMessage(), failed);
    }
  }

  private static void copy(SqliteFile file, Path to) throws SQLException {
    try (Connection connection = file.reading().getConnection()) {
      SqliteSchema.requireStore(file, connection);
      try (PreparedStatement vacuum = connection.prepareStatement("VACUUM INTO ?")) {
        vacuum.setString(1, to.toString());
        vacuum.execute();
      }
    }
  }

  private static void sync(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.force(true);
    }
  }
}
