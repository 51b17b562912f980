package io.fermata.agent;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import org.jspecify.annotations.Nullable;

/** A flow for models to call; the world says what comes of it. */
public final class CalledFlow {
  record Order(@Nullable String order, @Nullable String reason) {}

  private CalledFlow() {}

  /** Its arguments may be anything. */
  public static FlowTool of(String name, String description) {
    return of(name, description, Json.object().put("type", "object"));
  }

  public static FlowTool of(String name, String description, ObjectNode schema) {
    return FlowTool.of(
            name,
            description,
            Flow.of(name, Order.class)
                .description(description)
                .act("work", run -> {})
                .edge(START, "work")
                .edge("work", END)
                .compile())
        .arguments(schema);
  }
}
