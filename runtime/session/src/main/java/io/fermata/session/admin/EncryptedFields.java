package io.fermata.session.admin;

/** What a host encrypts in its store. */
public enum EncryptedFields {
  /** The values of fields that flows mark as secret, wherever they go. */
  SECRETS,
  /**
   * Every record and every snapshot of runs and threads. What the store finds journals by stays
   * readable: names of flows and agents, principals, tags, times and standings.
   */
  EVERYTHING
}
