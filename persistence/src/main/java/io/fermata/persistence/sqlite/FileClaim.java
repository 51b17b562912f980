package io.fermata.persistence.sqlite;

import io.fermata.persistence.spi.StoreException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The exclusive claim of one host on one file: an operating system lock on {@code <file>.lock},
 * which ends with the process however it ends. The lock file of a store stays behind. Who locks one
 * that was removed meanwhile does not have the claim: another process may lock the next.
 */
final class FileClaim {

  /**
   * The claims of this JVM. Closing any channel on a file drops all locks the process has on it, so
   * a file claimed here must not even be opened a second time.
   */
  private static final Set<Path> CLAIMED = ConcurrentHashMap.newKeySet();

  /** Beyond the process id, which others must be able to read where locks are mandatory. */
  private static final long LOCKED_BYTE = Long.MAX_VALUE - 1;

  private final Path file;
  private final FileChannel channel;

  private FileClaim(Path file, FileChannel channel) {
    this.file = file;
    this.channel = channel;
  }

  static FileClaim take(SqliteFile file) {
    if (!CLAIMED.add(file.path())) {
      throw heldHere(file);
    }
    try {
      return new FileClaim(file.path(), lock(file));
    } catch (RuntimeException refused) {
      CLAIMED.remove(file.path());
      throw refused;
    }
  }

  private static FileChannel lock(SqliteFile file) {
    Path lockFile = lockFile(file.path());
    try {
      createPrivately(lockFile);
      Object key = InodeClaim.key(lockFile);
      FileChannel channel = open(file, lockFile);
      try {
        if (channel.tryLock(LOCKED_BYTE, 1, false) == null
            || !Objects.equals(key, InodeClaim.key(lockFile))) {
          throw heldElsewhere(file, lockFile);
        }
        writeProcessId(channel, lockFile);
        return channel;
      } catch (OverlappingFileLockException held) {
        // To close the channel would drop the lock of who holds it.
        throw heldHere(file);
      } catch (IOException | StoreException failed) {
        channel.close();
        throw failed;
      }
    } catch (IOException failed) {
      throw file.notWritable(failed);
    }
  }

  private static FileChannel open(SqliteFile file, Path lockFile) throws IOException {
    try {
      return FileChannel.open(lockFile, StandardOpenOption.READ, StandardOpenOption.WRITE);
    } catch (NoSuchFileException removed) {
      throw heldElsewhere(file, lockFile);
    }
  }

  private static Path lockFile(Path file) {
    return file.resolveSibling(file.getFileName() + ".lock");
  }

  private static void createPrivately(Path lockFile) throws IOException {
    if (!Files.exists(lockFile)) {
      try {
        Files.createFile(lockFile, SqliteFile.ownerOnly(lockFile));
      } catch (FileAlreadyExistsException raced) {
        // The lock decides between both.
      }
    }
  }

  private static void writeProcessId(FileChannel channel, Path lockFile) throws IOException {
    String processId = ProcessHandle.current().pid() + "\n";
    try {
      channel.truncate(0);
      channel.write(ByteBuffer.wrap(processId.getBytes(StandardCharsets.US_ASCII)), 0);
    } catch (IOException failed) {
      // An interrupt closes it, and then another process may hold the lock.
      if (channel.isOpen()) {
        Files.deleteIfExists(lockFile);
      }
      throw failed;
    }
  }

  private static StoreException heldHere(SqliteFile file) {
    return new StoreException(
        file.name()
            + " is already open in this process ("
            + ProcessHandle.current().pid()
            + "); close that store first or choose another file");
  }

  private static StoreException heldElsewhere(SqliteFile file, Path lockFile) throws IOException {
    String processId = processId(lockFile);
    String holder = processId.isEmpty() ? "another process" : "process " + processId;
    return new StoreException(
        file.name() + " is in use by " + holder + "; stop that process or choose another file");
  }

  /** Removes the lock file while it is locked: who has opened it before notices. */
  void releaseWithoutTrace() throws IOException {
    try {
      Files.deleteIfExists(lockFile(file));
    } finally {
      release();
    }
  }

  /** Empty if the holder has just removed its lock file. */
  private static String processId(Path lockFile) throws IOException {
    try {
      return Files.readString(lockFile).strip();
    } catch (NoSuchFileException gone) {
      return "";
    }
  }

  void release() {
    try (FileChannel locked = channel) {
      locked.truncate(0);
    } catch (ClosedByInterruptException interrupted) {
      // It is closed, and the id of this process stays in its file.
    } catch (IOException failed) {
      throw new StoreException(
          "The lock of "
              + file
              + " could not be released: "
              + SqliteFile.reason(failed)
              + "; it is released when this process ends",
          failed);
    } finally {
      CLAIMED.remove(file);
    }
  }
}
