package io.fermata.session.call;

/** The caller may not use an agent that acts in a thread. */
public final class UnreachableAgentException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String agent;

  public UnreachableAgentException(String agent) {
    super(agent, null, false, false);
    this.agent = agent;
  }

  public String agent() {
    return agent;
  }
}
