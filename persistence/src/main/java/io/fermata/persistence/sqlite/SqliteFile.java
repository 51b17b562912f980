package io.fermata.persistence.sqlite;

import io.fermata.persistence.spi.StoreException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteDataSource;

/**
 * The file of a SQLite store.
 *
 * @param name the name that the user gave, for messages
 * @param path the real path, the same for every link to it
 */
public record SqliteFile(String name, Path path) {

  public static SqliteFile locate(Path file) {
    String name = file.toString();
    if (name.contains("?")) {
      throw new StoreException(
          name
              + " cannot be a store, SQLite takes what follows a \"?\" for settings;"
              + " choose a name without it");
    }
    if (Files.isDirectory(file)) {
      throw new StoreException(
          name + " is a directory; name a file in it, for example " + file.resolve("fermata.db"));
    }
    try {
      return new SqliteFile(name, realPath(file));
    } catch (IOException unreachable) {
      throw new StoreException(
          name + " cannot be reached: " + reason(unreachable) + "; choose another file",
          unreachable);
    }
  }

  private static Path realPath(Path file) throws IOException {
    if (Files.exists(file)) {
      return file.toRealPath();
    }
    if (Files.isSymbolicLink(file)) {
      throw new IOException(
          "it is a link to " + Files.readSymbolicLink(file) + ", which is missing");
    }
    return realDirectory(file).resolve(file.getFileName());
  }

  private static Path realDirectory(Path file) throws IOException {
    Path directory = file.toAbsolutePath().normalize().getParent();
    if (directory == null || !Files.isDirectory(directory)) {
      throw new StoreException(
          file
              + " cannot be created: there is no directory "
              + directory
              + "; create it or choose another file");
    }
    return directory.toRealPath();
  }

  /** Journals contain users' data and the host's key: only the owner may read a new file. */
  void createPrivately() {
    try {
      Files.createFile(path, ownerOnly(path));
    } catch (FileAlreadyExistsException present) {
      requireWritable();
    } catch (IOException failed) {
      throw notWritable(failed);
    }
  }

  private void requireWritable() {
    if (!Files.isReadable(path) || !Files.isWritable(path)) {
      throw new StoreException(notPermitted(path));
    }
  }

  private String notPermitted(Path file) {
    return name
        + " cannot be used: this process may not read and write "
        + file
        + "; change the owner or the permissions of the store's files or choose another file";
  }

  StoreException notWritable(IOException failed) {
    Path denied = denied(failed);
    if (denied != null && Files.exists(denied)) {
      return new StoreException(notPermitted(denied), failed);
    }
    String why =
        denied != null
            ? "the directory "
                + path.getParent()
                + " is not writable ("
                + reason(failed)
                + "); grant write access"
            : reason(failed) + "; check the disk";
    return new StoreException(
        name + " cannot be created: " + why + " or choose another file", failed);
  }

  /** Of a file that may not be opened or created, Java names the path alone. */
  private static @Nullable Path denied(IOException failed) {
    return failed instanceof FileSystemException of && of.getReason() == null
        ? Path.of(of.getFile())
        : null;
  }

  static FileAttribute<?>[] ownerOnly(Path path) {
    if (!path.getFileSystem().supportedFileAttributeViews().contains("posix")) {
      return new FileAttribute<?>[0];
    }
    return new FileAttribute<?>[] {
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
    };
  }

  SQLiteDataSource dataSource(SQLiteConfig config) {
    SQLiteDataSource source = new SQLiteDataSource(config);
    source.setUrl("jdbc:sqlite:" + path);
    return source;
  }

  /** Connections that only read, beside a host. */
  SQLiteDataSource reading() {
    SQLiteConfig settings = new SQLiteConfig();
    settings.setReadOnly(true);
    settings.setBusyTimeout(10_000);
    return dataSource(settings);
  }

  static String reason(IOException failed) {
    String message = failed.getMessage();
    return message == null ? failed.getClass().getSimpleName() : message;
  }
}
