package io.fermata.session.call;

import io.fermata.session.key.SessionKey;

/**
 * The name of a run that was handed out as a task.
 *
 * @param principal who called; another finds nothing under the same name
 * @param tool the name of the tool that was called
 * @param runId the run, as the replies to its calls name it
 */
public record TaskRun(String principal, String tool, String runId) {

  public String entityId() {
    return SessionKey.entityOf(tool, runId);
  }

  /** Whether a run of that name can be the principal's at all. */
  public boolean possible() {
    return runId.startsWith(SessionKey.ownerOf(principal));
  }
}
