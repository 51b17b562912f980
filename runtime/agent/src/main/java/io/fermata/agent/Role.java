package io.fermata.agent;

import com.fasterxml.jackson.annotation.JsonProperty;

/** Who a message is from. The sides are told apart by it: A is the assistant, B the user. */
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
