package io.fermata.agent;

import java.util.List;

/** An agent is invalid; the message lists all errors. */
public final class InvalidAgentException extends IllegalArgumentException {
  private static final long serialVersionUID = 1;

  InvalidAgentException(String agent, List<String> wrong) {
    super("The agent " + agent + " is invalid:\n- " + String.join("\n- ", wrong));
  }
}
