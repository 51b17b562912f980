package io.fermata.agent.message;

import com.fasterxml.jackson.annotation.JsonProperty;

/** The author of a message. Side A is the assistant, side B the user. */
public enum Role {
  @JsonProperty("system")
  SYSTEM,
  @JsonProperty("user")
  USER,
  @JsonProperty("assistant")
  ASSISTANT,
  @JsonProperty("tool")
  TOOL
}
