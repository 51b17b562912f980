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
      };

  /** Whether this host runs the session now. */
  boolean isHere(String entityId);

  /** Sends a command to the host that runs the session. */
  void forward(String entityId, SessionCommand command);
}
