package io.fermata.session.call;

import io.fermata.session.key.SessionKey;

/**
 * The id of a task's run.
 *
 * @param principal the caller; others find nothing under the same id
 * @param tool the name of the tool that was called
 * @param runId the run id, as in replies
 */
public record TaskRun(String principal, String tool, String runId) {

  public String entityId() {
    return SessionKey.entityOf(tool, runId);
  }

  /** Whether the run id can belong to the principal. */
  public boolean possible() {
    return runId.startsWith(SessionKey.ownerOf(principal));
  }
}
