package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.message.Message;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import io.fermata.nulls.NullArguments;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolUse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** What a program gives a host as null is refused, and named. */
class SessionNullsTest {
  private static Map<Class<?>, Object> samples() {
    Predicate<String> any = agent -> true;
    Map<Class<?>, Object> samples = new HashMap<>();
    samples.put(String.class, "1");
    samples.put(boolean.class, true);
    samples.put(Boolean.class, true);
    samples.put(Long.class, 1L);
    samples.put(ObjectNode.class, Json.object());
    samples.put(JsonNode.class, Json.object());
    samples.put(Predicate.class, any);
    samples.put(Set.class, Set.of());
    samples.put(List.class, List.of());
    samples.put(Map.class, Map.of());
    samples.put(Message.class, Message.user("Hello"));
    samples.put(ForkOrigin.Mode.class, ForkOrigin.Mode.LIVE);
    return samples;
  }

  @Test
  void everyRefusalOfANullNamesTheArgument() {
    NullArguments nulls =
        new NullArguments(samples(), Map.of())
            .made(ToolCall.class)
            .made(ToolUse.class)
            .made(Threads.NewThread.class)
            .made(Threads.NewMessage.class)
            .made(Threads.NewFork.class)
            .made(Threads.Answer.class);
    assertThat(nulls.calls()).isGreaterThan(20);
    assertThat(nulls.unnamed()).isEmpty();
  }
}
