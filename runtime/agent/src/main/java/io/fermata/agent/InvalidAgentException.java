package io.fermata.agent;

import java.util.List;

/** An agent is not well formed; the message lists everything that is wrong with it. */
public final class InvalidAgentException extends IllegalArgumentException {
  private static final long serialVersionUID = 1;

  InvalidAgentException(String agent, List<String> wrong) {
    super("The agent " + agent + " cannot run:\n- " + String.join("\n- ", wrong));
  }
}
