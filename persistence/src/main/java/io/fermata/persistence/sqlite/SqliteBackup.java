package io.fermata.persistence.sqlite;

import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.sql.Transactions;
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
import java.util.List;
import org.sqlite.SQLiteErrorCode;

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
    try {
      requireNew(to);
      FileClaim claim = FileClaim.take(SqliteFile.locate(to));
      try {
        requireNew(to);
        write(file, to);
      } finally {
        claim.releaseWithoutTrace();
      }
    } catch (FileAlreadyExistsException present) {
      throw new StoreException(
          present.getMessage() + " exists already; choose another file", present);
    } catch (IOException failed) {
      throw new StoreException(
          to + " cannot be written: " + SqliteFile.reason(failed) + "; choose another file",
          failed);
    } catch (SQLException failed) {
      throw explained(file, to, failed);
    }
  }

  /** What is neither of the store nor the disk of the copy may be either. */
  private static StoreException explained(SqliteFile file, Path to, SQLException failed) {
    if (Transactions.isDamage(failed) || SqliteFailure.is(failed, SQLiteErrorCode.SQLITE_BUSY)) {
      return SqliteFailure.explain(file, failed);
    }
    boolean full = SqliteFailure.is(failed, SQLiteErrorCode.SQLITE_FULL);
    return new StoreException(
        full ? StoreProblem.FULL : StoreProblem.REFUSES,
        "%s cannot be copied to %s%s"
            .formatted(
                file.name(),
                to,
                full
                    ? ", as the disk is full; choose a file on another disk"
                    : ": " + failed.getMessage() + "; choose another file"),
        failed);
  }

  private static void requireNew(Path to) throws FileAlreadyExistsException {
    if (Files.exists(to)) {
      throw new FileAlreadyExistsException(to.toString());
    }
    // SQLite would apply them to the copy.
    for (String suffix : List.of("-wal", "-shm", "-journal")) {
      Path left = to.resolveSibling(to.getFileName() + suffix);
      if (Files.exists(left)) {
        throw new StoreException(
            left
                + " was left behind by another file of that name; move it away or choose another file");
      }
    }
  }

  private static void write(SqliteFile file, Path to) throws IOException, SQLException {
    Path part = to.resolveSibling(to.getFileName() + ".part");
    try {
      // What a backup that was killed has left.
      delete(part);
      // The copy contains the same data, so only its owner may read it from the start.
      Files.createFile(part, SqliteFile.ownerOnly(part));
      copy(file, part);
      try (FileChannel written = FileChannel.open(part, StandardOpenOption.WRITE)) {
        written.force(true);
      }
      Files.move(part, to, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      delete(part);
    }
  }

  /** SQLite leaves the journal of a copy that failed. */
  private static void delete(Path part) throws IOException {
    Files.deleteIfExists(part);
    Files.deleteIfExists(part.resolveSibling(part.getFileName() + "-journal"));
  }

  private static void copy(SqliteFile file, Path to) throws SQLException {
    requireReadable(file);
    try (Connection connection = file.reading().getConnection();
        PreparedStatement vacuum = connection.prepareStatement("VACUUM INTO ?")) {
      vacuum.setString(1, to.toString());
      vacuum.execute();
    }
  }

  /** What fails here is not of the disk of the copy. */
  private static void requireReadable(SqliteFile file) {
    try (Connection connection = file.reading().getConnection()) {
      SqliteSchema.requireStore(file, connection);
    } catch (SQLException unread) {
      throw SqliteFailure.explain(file, unread);
    }
  }
}
