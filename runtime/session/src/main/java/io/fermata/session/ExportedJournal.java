package io.fermata.session;

import io.fermata.agent.replay.ThreadJournal;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.host.Archive;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** The journal of an export, whichever it is. */
public sealed interface ExportedJournal {
  record OfRun(RunJournal journal) implements ExportedJournal {}

  record OfThread(ThreadJournal journal) implements ExportedJournal {}

  /**
   * Reads an export. Encrypted data is read with the keys from the environment.
   *
   * @throws io.fermata.session.admin.ArchiveException if it is incomplete or inconsistent
   */
  static ExportedJournal read(Path export) throws IOException {
    try (InputStream from = Files.newInputStream(export)) {
      return Archive.isThread(from)
          ? new OfThread(Fermata.readThreadJournal(export))
          : new OfRun(Fermata.readJournal(export));
    }
  }
}
