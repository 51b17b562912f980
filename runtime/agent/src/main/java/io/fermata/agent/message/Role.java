package io.fermata.agent.message;

import com.fasterxml.jackson.databind.EnumNamingStrategies;
import com.fasterxml.jackson.databind.annotation.EnumNaming;

/** The author of a message. Side A is the assistant, side B the user. */
@EnumNaming(EnumNamingStrategies.SnakeCaseStrategy.class)
public enum Role {
  SYSTEM,
  USER,
  ASSISTANT,
  TOOL
}
