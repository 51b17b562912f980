package io.fermata.session.admin;

/** The scope of encryption in the store of a host. */
public enum EncryptedFields {
  /**
   * The values of fields that flows mark as secret, wherever they occur in the run that got them.
   * Threads as a whole, if an agent of the host has a tool or a scheduled handler with marked
   * arguments, or calls a flow with secret fields, and those that were encrypted before.
   */
  SECRETS,
  /**
   * Every entry and snapshot of runs and threads. Indexed data stays readable: names of flows and
   * agents, principals, tags, times and statuses.
   */
  EVERYTHING
}
