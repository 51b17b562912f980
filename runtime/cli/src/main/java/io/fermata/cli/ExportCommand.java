package io.fermata.cli;

import io.fermata.session.Journals;
import io.fermata.session.StoredJournal;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Writes the journal of a run or of a thread into a file. */
@Command(
    name = "export",
    description = {
      "Writes the journal of a run or of a thread as JSON Lines.",
      "No server may have the store open."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class ExportCommand extends ConsoleCommand {
  @Parameters(paramLabel = "FILE", description = "The file to write; it must not exist yet.")
  Path file = Path.of("");

  @ArgGroup(multiplicity = "1")
  What what = new What();

  /** What is exported. */
  static final class What {
    @Option(
        names = "--run",
        paramLabel = "FLOW/RUN",
        converter = RunName.Converter.class,
        description = "A flow's id, and the runId that every reply carries.")
    @Nullable RunName run;

    @Option(names = "--thread", paramLabel = "ID", description = "The id of a thread.")
    @Nullable String thread;

    StoredJournal<?> in(Journals journals) {
      return run == null
          ? journals.thread(String.valueOf(thread))
          : journals.run(run.flow(), run.runId());
    }
  }

  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() {
    try (Opened opened = dormant(store.present())) {
      long records = written(opened);
      println(Cli.counted(records, "record", "records") + " in " + file);
    }
    return 0;
  }

  @Override
  @Nullable String whileServed() {
    return store.copied("export");
  }

  private long written(Opened opened) {
    return creating(file, to -> now(what.in(opened.host().journals()).export(to)), ownerOnly(file));
  }

  /** Writes what a file holds. */
  interface Writing<T> {
    T write(OutputStream to) throws IOException;
  }

  /**
   * Writes a file that must not exist yet, and deletes what it began if it fails.
   *
   * @throws UnusableException if it cannot be written, with the reason and what to do
   */
  static <T> T creating(Path file, Writing<T> writing, FileAttribute<?>... attributes) {
    try {
      Files.createFile(file, attributes);
      return writtenOrDeleted(file, writing);
    } catch (FileAlreadyExistsException e) {
      throw new UnusableException(exists(file), e);
    } catch (NoSuchFileException e) {
      throw new UnusableException(
          file
              + " cannot be written because its directory does not exist; create it, or choose another",
          e);
    } catch (IOException e) {
      throw unwritable(file, e);
    } catch (CompletionException e) {
      throw e.getCause() instanceof UncheckedIOException failed
          ? unwritable(file, Objects.requireNonNull(failed.getCause()))
          : e;
    }
  }

  private static <T> T writtenOrDeleted(Path file, Writing<T> writing) throws IOException {
    try (OutputStream to = Files.newOutputStream(file)) {
      return writing.write(to);
    } catch (IOException | RuntimeException e) {
      Files.deleteIfExists(file);
      throw e;
    }
  }

  static String exists(Path file) {
    return file + " exists already; choose another file";
  }

  private static UnusableException unwritable(Path file, IOException e) {
    // The message of Java names the file again, and may name nothing else.
    String why = e instanceof FileSystemException known ? known.getReason() : e.getMessage();
    return new UnusableException(
        "%s cannot be written: %s; choose another file"
            .formatted(file, why == null ? e.getClass().getSimpleName() : why),
        e);
  }

  /** The file contains the journal, so it is readable by its owner only from the beginning. */
  private static FileAttribute<?>[] ownerOnly(Path file) {
    return file.getFileSystem().supportedFileAttributeViews().contains("posix")
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
        }
        : new FileAttribute<?>[0];
  }
}
