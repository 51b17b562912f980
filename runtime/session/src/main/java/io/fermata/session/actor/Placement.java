package io.fermata.session.actor;

/** Which sessions this host runs, and how commands reach those of other hosts. */
public interface Placement {
  /** One host runs all sessions. */
  Placement SINGLE =
      new Placement() {
        @Override
        public boolean isHere(String entityId) {
          return true;
        }

        @Override
        public void forward(String entityId, SessionCommand command) {
          throw new IllegalStateException("A single host runs all its sessions");
        }

        @Override
        public boolean awaitsOthers(String entityId) {
          return false;
        }
      };

  /** Whether this host runs the session now. */
  boolean isHere(String entityId);

  /** Sends a command to the host that runs the session. */
  void forward(String entityId, SessionCommand command);

  /** Whether this host has the flow or the agent of a session before other hosts have it. */
  boolean awaitsOthers(String entityId);
}
