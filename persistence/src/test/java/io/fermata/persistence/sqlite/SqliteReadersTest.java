package io.fermata.persistence.sqlite;

import io.fermata.persistence.sql.OpenSqlStore;
import io.fermata.persistence.sql.ReadersContract;
import io.fermata.persistence.sql.SqlBackend;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

final class SqliteReadersTest extends ReadersContract {
  @TempDir private Path directory = Path.of("");

  @Override
  protected Opened open() {
    SqliteFile file = SqliteFile.locate(directory.resolve("busy.db"));
    FileClaim claim = FileClaim.take(file);
    file.createPrivately();
    InodeClaim inode = InodeClaim.take(file);
    byte[] key = SqliteSchema.prepare(file);
    SqlBackend backend = SqliteBackend.connect(file, claim, inode, later -> {});
    return new Opened(new OpenSqlStore("busy", key, backend), backend);
  }
}
