package io.fermata.persistence.sqlite;

import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The exclusive claim of one host on the file itself, under all its names: a lock on a byte that
 * SQLite does not use. Two hosts on one file by two names, hard links or mounts, would keep two
 * write-ahead logs and overwrite each other's pages.
 *
 * <p>A process loses its locks on a file when it closes any descriptor of it. SQLite closes none
 * while one of its connections holds a lock, which those of an open store always do; before that
 * the lock is taken again.
 */
final class InodeClaim {

  /** The files claimed by this JVM, which must not even be opened a second time. */
  private static final Set<Object> CLAIMED = ConcurrentHashMap.newKeySet();

  /** Far beyond any content, and beyond the bytes that SQLite locks. */
  private static final long LOCKED_BYTE = Long.MAX_VALUE - 1;

  private final SqliteFile file;
  private final @Nullable Object key;
  private final FileChannel channel;
  private final CompletableFuture<StoreProblem> lost = new CompletableFuture<>();
  private FileLock lock;

  /** The write-ahead log and its index, which stay the same while the file is open. */
  private volatile Map<Path, Object> logs = Map.of();

  private InodeClaim(SqliteFile file, @Nullable Object key, FileChannel channel, FileLock lock) {
    this.file = file;
    this.key = key;
    this.channel = channel;
    this.lock = lock;
  }

  /** Claims an existing file, before SQLite opens it. */
  static InodeClaim take(SqliteFile file) {
    Object key = key(file.path());
    if (key != null && !CLAIMED.add(key)) {
      throw heldElsewhere(file, "this process");
    }
    try {
      FileChannel channel =
          FileChannel.open(file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE);
      try {
        FileLock lock = channel.tryLock(LOCKED_BYTE, 1, false);
        if (lock == null) {
          throw heldElsewhere(file, "another process");
        }
        return new InodeClaim(file, key, channel, lock);
      } catch (IOException | StoreException failed) {
        channel.close();
        throw failed;
      }
    } catch (IOException failed) {
      forget(key);
      throw file.notWritable(failed);
    } catch (RuntimeException refused) {
      forget(key);
      throw refused;
    }
  }

  private static void forget(@Nullable Object key) {
    if (key != null) {
      CLAIMED.remove(key);
    }
  }

  private static StoreException heldElsewhere(SqliteFile file, String holder) {
    return new StoreException(
        file.name()
            + " is open in "
            + holder
            + " under another name (a hard link or a mount); use one name for it");
  }

  /** Device and inode; null if the path leads nowhere, or the file system has no such keys. */
  static @Nullable Object key(Path path) {
    try {
      return readKey(path);
    } catch (IOException gone) {
      return null;
    }
  }

  private static @Nullable Object readKey(Path path) throws IOException {
    return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
  }

  /** Locks again, after connections that held no lock were closed, and those that stay are open. */
  void renew() {
    Map<Path, Object> open = new LinkedHashMap<>();
    for (String log : List.of("-wal", "-shm")) {
      Path path = Path.of(file.path() + log);
      Object logKey = key(path);
      if (logKey != null) {
        open.put(path, logKey);
      }
    }
    logs = open;
    try {
      lock.release();
      FileLock again = channel.tryLock(LOCKED_BYTE, 1, false);
      if (again == null) {
        throw heldElsewhere(file, "another process");
      }
      lock = again;
    } catch (IOException failed) {
      throw file.notWritable(failed);
    }
  }

  /**
   * Refuses to write to a file that no path leads to any more: it ends with this process. So does
   * what is written to a log that was deleted. Once that was so, it stays so.
   */
  void requireReachable() {
    if (key == null) {
      return;
    } else if (!lost.isDone()) {
      lookAround(key);
    }
    StoreProblem found = lost.getNow(null);
    if (found != null) {
      throw new StoreException(found, file.name() + because(found), null);
    }
  }

  private void lookAround(Object claimed) {
    if (!leadsTo(file.path(), claimed)) {
      lost.complete(StoreProblem.GONE);
    }
    logs.forEach(
        (path, log) -> {
          if (!leadsTo(path, log)) {
            lost.complete(StoreProblem.LOG_GONE);
          }
        });
  }

  private static String because(StoreProblem found) {
    return found == StoreProblem.GONE
        ? " was deleted or replaced while it was open, so nothing is written to it any more; stop"
            + " this process, put the right file there and start again"
        : " has lost its write-ahead log: -wal or -shm was deleted or replaced while it was open,"
            + " so nothing is written any more; stop this process, which copies what it"
            + " acknowledged into the file, and start again";
  }

  private boolean leadsTo(Path path, Object claimed) {
    try {
      return claimed.equals(readKey(path));
    } catch (NoSuchFileException deleted) {
      return false;
    } catch (IOException unreadable) {
      throw new StoreException(
          StoreProblem.AWAY,
          file.name()
              + " cannot be reached: "
              + SqliteFile.reason(unreadable)
              + "; check the disk and the permissions",
          unreadable);
    }
  }

  /** Completes when the file or its log was found deleted or replaced. */
  CompletionStage<StoreProblem> lost() {
    return lost;
  }

  /** After all connections are closed. */
  void release() {
    try {
      channel.close();
    } catch (IOException failed) {
      throw new StoreException(
          "The lock of "
              + file.path()
              + " could not be released: "
              + SqliteFile.reason(failed)
              + "; it is released when this process ends",
          failed);
    } finally {
      forget(key);
    }
  }
}
