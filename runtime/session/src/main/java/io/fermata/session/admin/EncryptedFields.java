package io.fermata.session.admin;

/** The scope of encryption in the store of a host. */
public enum EncryptedFields {
  /**
   * The values of fields that flows mark as secret, and of arguments that tools of agents do,
   * wherever they occur in the run or the thread that got them.
   */
  SECRETS,
  /**
   * Every entry and snapshot of runs and threads. Indexed data stays readable: names of flows and
   * agents, principals, tags, times and statuses.
   */
  EVERYTHING
}
