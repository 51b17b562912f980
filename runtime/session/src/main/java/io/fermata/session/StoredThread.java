package io.fermata.session;

import io.fermata.agent.replay.ThreadJournal;
import io.fermata.session.admin.Scrubbing;
import io.fermata.session.archive.Archive;
import io.fermata.session.archive.Recordings;
import io.fermata.session.key.ThreadKey;
import java.util.List;

/** The journal of a thread in the store of a host. */
final class StoredThread extends StoredJournal<ThreadJournal> {
  private final String threadId;

  StoredThread(HostParts host, String threadId) {
    super(host);
    this.threadId = threadId;
  }

  @Override
  Archive.Header header() {
    ThreadKey key = ThreadKey.of(threadId);
    if (key == null) {
      throw new IllegalArgumentException("There is no thread " + threadId);
    }
    return Archive.Header.ofThread(key);
  }

  @Override
  ThreadJournal read(StoredJournals stored) {
    return stored.thread(threadId);
  }

  @Override
  List<String> recording(Scrubbing scrubbing, ThreadJournal journal) {
    return Recordings.ofThread(host.catalog, host.agents.all(), scrubbing, journal);
  }
}
