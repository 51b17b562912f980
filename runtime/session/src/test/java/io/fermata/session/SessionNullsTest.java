package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Participant;
import io.fermata.agent.message.Message;
import io.fermata.flow.Flow;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.Recorder;
import io.fermata.nulls.NullArguments;
import io.fermata.persistence.Store;
import io.fermata.session.admin.ClusterSettings;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Schedule;
import io.fermata.session.admin.Settings;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolUse;
import io.fermata.session.call.WidgetPage;
import io.fermata.session.observe.ScheduleObserver;
import io.fermata.session.observe.StepInterceptor;
import io.fermata.session.observe.Telemetry;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What a program gives a host as null is refused, and named. */
class SessionNullsTest {
  record Empty(String name) {}

  private static Map<Class<?>, Object> samples() {
    Predicate<String> any = agent -> true;
    Map<Class<?>, Object> samples = new HashMap<>();
    samples.put(String.class, "1");
    samples.put(boolean.class, true);
    samples.put(int.class, 1);
    samples.put(Threads.Status.class, Threads.Status.RESTING);
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
            .made(Threads.Answer.class)
            .made(Threads.Query.class)
            .made(Erasure.Principal.class)
            .made(Erasure.Session.class)
            .made(Erasure.Run.class)
            .made(Erasure.Thread.class);
    assertThat(nulls.calls()).isGreaterThan(20);
    assertThat(nulls.unnamed()).isEmpty();
  }

  private static Map<Class<?>, Object> hostSamples() {
    Map<Class<?>, Object> samples = samples();
    FlowTool tool = FlowTool.of("ring", "Rings.", flow());
    samples.put(Store.class, Store.memory());
    samples.put(byte[].class, new byte[32]);
    samples.put(Flow.class, flow());
    samples.put(FlowTool.class, tool);
    samples.put(Agent.class, agent());
    samples.put(DisplayTool.class, DisplayTool.of("show", "Show", "Shows.", "<p>"));
    samples.put(Schedule.class, Schedule.of("daily", "ring"));
    samples.put(EncryptedFields.class, EncryptedFields.SECRETS);
    samples.put(Settings.class, Settings.DEFAULT);
    samples.put(Retention.class, Retention.DEFAULT);
    samples.put(ClusterSettings.class, ClusterSettings.LOCAL);
    samples.put(Config.class, ConfigFactory.empty());
    samples.put(UnaryOperator.class, UnaryOperator.identity());
    Stream.of(
            Recorder.class,
            Telemetry.class,
            KeyProvider.class,
            LongSupplier.class,
            StepInterceptor.class,
            ScheduleObserver.class,
            Consumer.class,
            InstantSource.class)
        .forEach(type -> samples.put(type, unused(type)));
    return samples;
  }

  @Test
  @SuppressWarnings("NullAway") // null is refused
  void queriesKeysAndPagesRefuseWhatIsNullByName() {
    Map<Class<?>, Object> samples = hostSamples();
    samples.put(Integer.class, 1);
    samples.put(Instant.class, Instant.EPOCH);
    samples.put(Duration.class, Duration.ZERO);
    samples.put(Path.class, Path.of("keys"));
    samples.put(Class.class, SessionNullsTest.class);
    samples.put(String[].class, new String[0]);
    samples.put(WidgetPage.Permission[].class, new WidgetPage.Permission[0]);
    samples.put(WidgetPage.Reach.class, WidgetPage.Reach.NONE);
    samples.put(RunQuery.Order.class, RunQuery.Order.STARTED);
    WidgetPage page = WidgetPage.of("<p>");
    DataKeys keys = DataKeys.parse(DataKeys.generate("k1"));
    NullArguments nulls =
        new NullArguments(samples, Map.of())
            .made(RunQuery.class)
            .tried(RunQuery.class, call -> call.of(RunQuery.ALL), "equals")
            .made(WidgetPage.class)
            .made(WidgetPage.Reach.class)
            .tried(WidgetPage.class, call -> call.of(page), "equals")
            .tried(DataKeys.class, call -> call.of(keys), "key");
    assertThat(nulls.calls()).isGreaterThan(20);
    assertThat(nulls.unnamed()).isEmpty();
    assertThatThrownBy(() -> page.loads("https://a.example", null)).hasMessage("loads");
    assertThatThrownBy(() -> page.may(WidgetPage.Permission.CAMERA, null)).hasMessage("asked");
  }

  private static Object unused(Class<?> type) {
    InvocationHandler nothing = (proxy, method, arguments) -> null;
    return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, nothing);
  }

  private static Flow<?> flow() {
    return Flow.of("ring", Empty.class)
        .description("Rings.")
        .act("ring", run -> {})
        .edge(START, "ring")
        .edge("ring", END)
        .compile();
  }

  private static Agent agent() {
    return Agent.of("desk", Participant.person(), Participant.code((flow, message) -> {}));
  }

  @Test
  void aHostRefusesItsPartsByName() {
    NullArguments nulls =
        new NullArguments(hostSamples(), Map.of())
            .tried(HostBuilder.class, call -> call.of(Fermata.host()));
    assertThat(nulls.calls()).isGreaterThan(20);
    assertThat(nulls.unnamed()).isEmpty();
  }

  @Test
  void nobodySeesOrChangesThreads() {
    try (Fermata host = Fermata.host().store(Store.memory()).agent(agent()).start()) {
      Threads threads = host.threads();
      String id =
          threads
              .create(new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of()))
              .toCompletableFuture()
              .join()
              .threadId();
      Map<Class<?>, Object> samples = hostSamples();
      samples.put(String.class, id);
      NullArguments nulls = new NullArguments(samples, Map.of());
      for (String method : List.of("get", "stop", "delete")) {
        nulls.tried(Threads.class, call -> call.of(threads), othersThan(method));
      }
      assertThat(nulls.calls()).isGreaterThan(7);
      assertThat(nulls.unnamed()).isEmpty();
    }
  }

  private static String[] othersThan(String method) {
    return Stream.of(Threads.class.getMethods())
        .map(Method::getName)
        .filter(name -> !name.equals(method))
        .toArray(String[]::new);
  }

  @Test
  void aKeyThatIsNoStoresIsRefused() {
    assertThatThrownBy(() -> Fermata.host().acceptHandlesOf(new byte[3]))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("serverKey of 3 bytes")
        .hasMessageContaining("OpenStore.serverKey()");
  }
}
