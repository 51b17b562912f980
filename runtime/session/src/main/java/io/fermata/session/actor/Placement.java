package io.fermata.session.actor;

import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

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
        public boolean isHeld(String entityId) {
          return true;
        }

        @Override
        public void forward(String entityId, SessionCommand command) {
          throw new IllegalStateException("A single host runs all its sessions");
        }

        @Override
        public @Nullable CompletionStage<Boolean> confirm(String entityId) {
          return null;
        }

        @Override
        public boolean awaitsOthers(String entityId) {
          return false;
        }

        @Override
        public Duration waitsBeforeItMoves() {
          return Duration.ZERO;
        }
      };

  /** Whether this host runs the session now. */
  boolean isHere(String entityId);

  /** Whether it does and knows of no other host that has taken the session. */
  boolean isHeld(String entityId);

  /**
   * Whether this host still is the one that runs the session, which it may have ceased to be
   * without knowing, as a process that was paused.
   *
   * @return null if there is no doubt; else completes with what the store says
   */
  @Nullable CompletionStage<Boolean> confirm(String entityId);

  /** Sends a command to the host that runs the session. */
  void forward(String entityId, SessionCommand command);

  /** Whether this host has the flow or the agent of a session before other hosts have it. */
  boolean awaitsOthers(String entityId);

  /** A session that moves to another host waits for what comes by then, for its callers here. */
  Duration waitsBeforeItMoves();
}
