package io.fermata.agent.message;

/** One of the two sides of an agent. What side A says has the role assistant, what B says user. */
public enum Side {
  A,
  B;

  public Side other() {
    return this == A ? B : A;
  }

  /** The role under which this side's messages are kept. */
  public Role role() {
    return this == A ? Role.ASSISTANT : Role.USER;
  }

  /** The side that a message of a role calls on to act. */
  public static Side answering(Role role) {
    return role == Role.ASSISTANT ? B : A;
  }
}
