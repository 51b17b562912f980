package io.fermata.session.admin;

/** The scope of encryption in the store of a host. */
public enum EncryptedFields {
  /** The values of fields that flows mark as secret, wherever they occur. */
  SECRETS,
  /**
   * Every entry and snapshot of runs and threads. Indexed data stays readable: names of flows and
   * agents, principals, tags, times and statuses.
   */
  EVERYTHING
}
