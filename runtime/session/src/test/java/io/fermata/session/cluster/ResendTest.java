package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Side;
import io.fermata.agent.state.ThreadInput;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.Shard;
import io.fermata.postgres.PostgresServer;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.TestFlows;
import io.fermata.session.actor.SessionCommand;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.ReplyMode;
import io.fermata.session.call.Request;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.RunReply;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.journal.ThreadReply;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.key.TraceContext;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.sharding.typed.javadsl.ClusterSharding;
import org.apache.pekko.cluster.sharding.typed.javadsl.EntityTypeKey;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A host gets calls that another has sent before, as it lost the reply or the first host. */
@Tag("slow")
class ResendTest {
  private static final EntityTypeKey<ToShard> SHARDS =
      EntityTypeKey.create(ToShard.class, "fermata-shard");

  private static final SessionCommand.ReplyTo NOBODY =
      new SessionCommand.ReplyTo() {
        @Override
        public void reply(long id, SessionReply reply) {}

        @Override
        public void progress(long id, ToolProgress progress) {}
      };

  private final String database = PostgresServer.shared().newDatabase();
  private final AtomicInteger asked = new AtomicInteger();
  private final LinkedBlockingQueue<SessionReply> replies = new LinkedBlockingQueue<>();
  private Fermata host;
  private ActorRef<ToHost> other;

  @BeforeEach
  void start() {
    Agent agent =
        Agent.aiHuman(
            "echo",
            Prompt.of(
                "p",
                ScriptedModels.answering(
                    told -> {
                      asked.incrementAndGet();
                      return dev.langchain4j.data.message.AiMessage.from("Heard.");
                    })));
    host =
        Fermata.host()
            .store(Store.postgres(database))
            .cluster()
            .flow(TestFlows.trip())
            .agent(agent)
            .start();
    other =
        host.system()
            .systemActorOf(
                Behaviors.receiveMessage(
                    message -> {
                      if (message instanceof ToHost.Replied replied) {
                        replies.add(RemoteCall.readReply(replied.reply()));
                      }
                      return Behaviors.same();
                    }),
                "other",
                Props.empty());
  }

  @AfterEach
  void close() {
    host.close(Duration.ofSeconds(5));
  }

  /** Another process has the sessions now. */
  private void restart() {
    close();
    start();
  }

  private SessionReply deliver(String entityId, byte[] call) throws InterruptedException {
    ActorSystem<?> system = host.system();
    ClusterSharding.get(system)
        .entityRefFor(SHARDS, String.valueOf(Shard.of(entityId)))
        .tell(new ToShard.Deliver(entityId, 7, call, true, 30_000, other));
    return Objects.requireNonNull(replies.poll(60, TimeUnit.SECONDS), "no reply came");
  }

  private static byte[] written(String session, boolean fresh, Request request) {
    Entry.Origin origin = Entry.Origin.starting("ann", session);
    return RemoteCall.of(
            new SessionCommand.Call(
                7, origin, null, fresh, request, ReplyMode.WAITS, TraceContext.NONE, NOBODY),
            "~lost-7")
        .written();
  }

  private static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(60, TimeUnit.SECONDS).join();
  }

  private Threads.View settled(String thread) {
    return now(host.threads().settled("ann", thread, Duration.ofSeconds(30)));
  }

  @Test
  void aStartWhoseReplyWasLostWithItsHostGetsTheRecordedOne() throws InterruptedException {
    String entityId = new SessionKey("ann", "trip", "s").entityId();
    Request start =
        new Request.OfRun(CallAction.START, "to test", Json.object(), null, null, null, null, null);
    byte[] call = written("s", true, start);
    RunReply first = (RunReply) deliver(entityId, call);
    assertThat(first.body().path("field").asText()).isEqualTo("from");
    restart();

    assertThat(deliver(entityId, call)).isEqualTo(first);
  }

  @Test
  void aThreadThatHasProceededDrivesNoSecondTurn() throws InterruptedException {
    Threads.NewThread wanted =
        new Threads.NewThread(
            "ann", "echo", null, Set.of(), Map.of(), List.of(Message.user("Hello")));
    String thread = now(host.threads().create(wanted)).threadId();
    settled(thread);
    int before = asked.get();
    String entityId = Objects.requireNonNull(ThreadKey.of(thread)).entityId();
    byte[] call = written("", false, new Request.OfThread(new ThreadInput.Proceed(Side.A, 5)));
    assertThat(((ThreadReply) deliver(entityId, call)).changed()).isTrue();
    long end = settled(thread).offset();
    assertThat(asked).hasValue(before + 1);

    assertThat(((ThreadReply) deliver(entityId, call)).changed()).isFalse();
    restart();
    assertThat(((ThreadReply) deliver(entityId, call)).changed()).isFalse();

    assertThat(settled(thread).offset()).isEqualTo(end);
    assertThat(asked).hasValue(before + 1);
  }

  @Test
  void aPostThatArrivesAgainIsFoundAmongLaterOnes() throws InterruptedException {
    Threads.NewThread wanted =
        new Threads.NewThread(
            "ann", "echo", null, Set.of(), Map.of(), List.of(Message.user("Hello")));
    String thread = now(host.threads().create(wanted)).threadId();
    settled(thread);
    String entityId = Objects.requireNonNull(ThreadKey.of(thread)).entityId();
    byte[] call =
        written(
            "",
            false,
            new Request.OfThread(
                new ThreadInput.Post("~first", Message.user("First"), List.of(), 5)));
    ThreadReply first = (ThreadReply) deliver(entityId, call);
    String id = first.state().keys().get("~first");
    settled(thread);
    Threads.Posted later =
        now(
            host.threads()
                .post(
                    "ann",
                    thread,
                    new Threads.NewMessage(Message.user("Second"), List.of(), null)));
    settled(thread);

    ThreadReply again = (ThreadReply) deliver(entityId, call);

    assertThat(again.changed()).isFalse();
    assertThat(again.state().keys())
        .containsEntry("~first", id)
        .as("the message without a key of its client has one of its host")
        .containsValue(later.messageId());
    assertThat(later.messageId()).isNotEqualTo(id);
    assertThat(later.repeated()).isFalse();
  }
}
