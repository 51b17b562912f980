package io.fermata.persistence.sqlite;

import io.fermata.persistence.spi.StoreException;
import java.sql.SQLException;
import org.sqlite.NativeLibraryNotFoundException;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/** What a failure of SQLite means, and its repair. */
final class SqliteFailure {

  private SqliteFailure() {}

  /** By its primary code: SQLITE_BUSY_SNAPSHOT is a SQLITE_BUSY, too. */
  static boolean is(SQLException failed, SQLiteErrorCode code) {
    return failed instanceof SQLiteException && failed.getErrorCode() == code.code;
  }

  static StoreException explain(SqliteFile file, SQLException failed) {
    return new StoreException(file.name() + " " + diagnosis(failed), failed);
  }

  private static String diagnosis(SQLException failed) {
    if (failed.getCause() instanceof NativeLibraryNotFoundException) {
      return "cannot be opened: SQLite's library is no file that can be created and run in "
          + System.getProperty("org.sqlite.tmpdir", System.getProperty("java.io.tmpdir"))
          + " ("
          + failed.getCause().getMessage()
          + "); name another directory with -Dorg.sqlite.tmpdir";
    }
    if (is(failed, SQLiteErrorCode.SQLITE_NOTADB)) {
      return "is not a SQLite database; choose another file";
    }
    if (is(failed, SQLiteErrorCode.SQLITE_CORRUPT)) {
      return "is damaged (" + failed.getMessage() + "); restore it from a backup";
    }
    if (is(failed, SQLiteErrorCode.SQLITE_BUSY)) {
      return "is locked by another SQLite program; close that program and start again";
    }
    return "cannot be opened: " + failed.getMessage() + "; check the disk and the permissions";
  }
}
