package io.fermata.session.host;

import io.fermata.agent.Agent;
import io.fermata.agent.Agents;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Bounds;
import io.fermata.agent.message.Side;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.agent.state.ThreadState;
import io.fermata.agent.state.ThreadStorage;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Limits;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.actor.Gateway;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.RunJson;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.Request;
import io.fermata.session.journal.CallLog;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.StoreErrors;
import io.fermata.session.journal.ThreadReply;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.key.TraceContext;
import io.fermata.session.thread.ThreadFeed;
import io.fermata.session.thread.ThreadViews;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The threads of a host, over their session actors, the directory and the journals. */
public final class AgentThreads implements Threads {
  /** How long a thread may take to accept an input. */
  private static final Duration TIMEOUT = Duration.ofSeconds(20);

  /** How many threads are forked at once: the whole journal of each is in memory. */
  private static final int FORKS = 2;

  private static final Logger LOG = LoggerFactory.getLogger(AgentThreads.class);

  private final Gateway gateway;
  private final Agents agents;
  private final BoundedWork forking;
  private final ThreadJournals journals;
  private final OpenStore store;
  private final SessionSubscriptions subscriptions;
  private final InstantSource clock;
  private final Executor executor;
  private final Executor feedThreads;
  private final BooleanSupplier closed;

  /** The latest creation under each key, as two at once could both find the key free. */
  private final Map<String, CompletionStage<?>> creations;

  /** The trace of its calls. */
  private final TraceContext trace;

  public AgentThreads(
      Gateway gateway,
      Agents agents,
      OpenStore store,
      SessionSubscriptions subscriptions,
      Encryption encryption,
      InstantSource clock,
      Executor executor,
      Executor feedThreads,
      BooleanSupplier closed) {
    this.gateway = gateway;
    this.agents = agents;
    this.forking = new BoundedWork(FORKS);
    this.store = store;
    this.subscriptions = subscriptions;
    this.clock = clock;
    this.executor = executor;
    this.feedThreads = feedThreads;
    this.journals = new ThreadJournals(store, encryption, executor, feedThreads);
    this.closed = closed;
    this.creations = new ConcurrentHashMap<>();
    this.trace = TraceContext.NONE;
  }

  private AgentThreads(AgentThreads same, TraceContext trace) {
    this.gateway = same.gateway;
    this.agents = same.agents;
    this.forking = same.forking;
    this.store = same.store;
    this.subscriptions = same.subscriptions;
    this.clock = same.clock;
    this.executor = same.executor;
    this.feedThreads = same.feedThreads;
    this.journals = same.journals;
    this.closed = same.closed;
    this.creations = same.creations;
    this.trace = trace;
  }

  /** A copy for one call. */
  AgentThreads within(TraceContext call) {
    return new AgentThreads(this, call);
  }

  @Override
  public Set<String> instructionEnv(String agent) {
    return agents.instructionEnv(agent);
  }

  @Override
  public Set<String> agents() {
    return agents.all().stream()
        .filter(agent -> !agent.isInternal())
        .map(Agent::name)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  Agents known() {
    return agents;
  }

  ThreadJournals journals() {
    return journals;
  }

  // --- commands --------------------------------------------------------------------------------

  @Override
  public CompletionStage<View> create(NewThread wanted) {
    if (agents.find(wanted.agent()) == null) {
      return failed(HostError.UNKNOWN_AGENT, agents.unknown(wanted.agent()));
    }
    String name = wanted.key();
    if (name == null) {
      ThreadKey key = ThreadKey.random(wanted.agent(), wanted.principal());
      return view(
          begin(key, wanted.principal(), new Request.OfThread(creation(key, wanted, null))));
    }
    ThreadKey key = ThreadKey.named(wanted.agent(), wanted.principal(), name, store.serverKey());
    return view(
        unlessClosed(
            wanted.principal(),
            () ->
                inTurn(
                    wanted.principal() + "\n" + name,
                    () -> keyIsFree(wanted, name).thenCompose(free -> create(key, wanted, null)))));
  }

  /** Creates once the creation before it under the same key has ended. */
  private CompletionStage<ThreadReply> inTurn(
      String name, Supplier<CompletionStage<ThreadReply>> create) {
    CompletableFuture<Void> ended = new CompletableFuture<>();
    CompletionStage<?> before = creations.put(name, ended);
    CompletionStage<?> turn = before == null ? CompletableFuture.completedFuture(null) : before;
    CompletionStage<ThreadReply> created = turn.thenComposeAsync(done -> create.get(), executor);
    created.whenComplete(
        (reply, thrown) -> {
          creations.remove(name, ended);
          ended.complete(null);
        });
    return created;
  }

  /** A thread's id names its agent, so that a key of another agent's thread is looked for there. */
  private CompletionStage<Void> keyIsFree(NewThread wanted, String name) {
    List<CompletableFuture<Boolean>> others =
        agents.all().stream()
            .map(Agent::name)
            .filter(other -> !other.equals(wanted.agent()))
            .map(other -> ThreadKey.named(other, wanted.principal(), name, store.serverKey()))
            .map(other -> StoreErrors.translated(store.directory().get(other.entityId())))
            .map(entry -> entry.thenApply(Optional::isPresent).toCompletableFuture())
            .toList();
    return CompletableFuture.allOf(others.toArray(CompletableFuture<?>[]::new))
        .thenAccept(all -> requireFree(name, others.stream().anyMatch(CompletableFuture::join)));
  }

  /** Which agent's thread it is, the caller may not be permitted to know. */
  private static void requireFree(String name, boolean taken) {
    if (taken) {
      throw new ThreadException(
          HostError.KEY_USED,
          "The key %s was used to create a thread of another agent; nothing was created. Create this one with a new key"
              .formatted(name));
    }
  }

  CompletionStage<ThreadReply> create(
      ThreadKey key, NewThread wanted, ThreadEvent.@Nullable Parent parent) {
    return send(key, parent == null ? wanted.principal() : null, creation(key, wanted, parent));
  }

  private ThreadInput creation(
      ThreadKey key, NewThread wanted, ThreadEvent.@Nullable Parent parent) {
    return new ThreadInput.Create(
        key.threadId(),
        wanted.agent(),
        wanted.principal(),
        wanted.tags(),
        wanted.env(),
        parent,
        wanted.messages(),
        clock.millis());
  }

  @Override
  public CompletionStage<View> fork(String principal, String threadId, NewFork how) {
    Objects.requireNonNull(principal, "principal");
    Objects.requireNonNull(threadId, "threadId");
    Objects.requireNonNull(how, "how");
    return view(
        forking.begin(
            () ->
                owned(principal, threadId)
                    .thenCompose(source -> forkedThread(principal, source, how))));
  }

  @Override
  public CompletionStage<View> fork(String principal, ThreadJournal journal, NewFork how) {
    Objects.requireNonNull(principal, "principal");
    Objects.requireNonNull(journal, "journal");
    Objects.requireNonNull(how, "how");
    return view(
        unlessClosed(
            principal,
            () ->
                forking.begin(
                    () ->
                        CompletableFuture.supplyAsync(() -> ThreadForks.of(journal), executor)
                            .thenComposeAsync(
                                source -> forked(source, principal, how), executor))));
  }

  /** The source is not woken, as it would do what is due. */
  private CompletionStage<ThreadReply> forkedThread(
      String principal, ThreadKey source, NewFork how) {
    return journals
        .entries(source.entityId())
        .thenComposeAsync(
            whole -> {
              ThreadForks forks = ThreadForks.of(principal, source.threadId(), whole);
              return forked(forks, principal, how)
                  .thenCompose(fork -> unlessDeleted(source, forks.created(), fork));
            },
            executor);
  }

  private CompletionStage<ThreadReply> unlessDeleted(
      ThreadKey source, ThreadEvent.Created created, ThreadReply fork) {
    String threadId = fork.state().threadId();
    return ForkRemoval.unlessKept(
        journals.requireKept(source, created).thenApply(kept -> fork),
        threadId,
        () -> delete(created.principal(), threadId));
  }

  private CompletionStage<ThreadReply> forked(ThreadForks source, String principal, NewFork how) {
    String agent = source.agent(how);
    ThreadKey key =
        gateway.keyOfFork(() -> ThreadKey.random(agent, principal), ThreadKey::entityId);
    return begin(key, principal, source.as(key, principal, how, clock.millis()));
  }

  @Override
  public CompletionStage<View> get(String principal, String threadId) {
    return view(look(principal, threadId, null));
  }

  @Override
  public CompletionStage<View> settled(String principal, String threadId, Duration timeout) {
    return view(look(principal, threadId, Limits.timeout(timeout)));
  }

  @Override
  public CompletionStage<Posted> post(String principal, String threadId, NewMessage message) {
    NewMessage sent = recognisable(message);
    return keyed(principal, threadId, key -> post(key, principal, sent))
        .thenApplyAsync(
            reply -> {
              requireSame(message, reply.state());
              String known = sent.key() == null ? null : reply.state().keys().get(sent.key());
              String id = known == null ? "m-u" + reply.state().received() : known;
              return new Posted(
                  threadId, id, message.key() != null && !reply.changed(), reply.seq());
            },
            executor);
  }

  /** A host of a cluster may have to send it to another one again, which then knows it. */
  private NewMessage recognisable(NewMessage message) {
    return message.key() != null || store.shared().isEmpty()
        ? message
        : new NewMessage(message.message(), message.attachments(), "~" + UUID.randomUUID());
  }

  private static void requireSame(NewMessage message, ThreadState state) {
    String key = message.key();
    if (key != null && state.contradicts(key, message.message(), message.attachments())) {
      throw new ThreadException(
          HostError.KEY_USED,
          "The key %s was used for another message, %s; nothing was posted. Send this one with a new key"
              .formatted(key, state.keys().get(key)));
    }
  }

  CompletionStage<ThreadReply> post(ThreadKey key, @Nullable String principal, NewMessage message) {
    return send(
        key,
        principal,
        new ThreadInput.Post(
            message.key(), message.message(), message.attachments(), clock.millis()));
  }

  @Override
  public CompletionStage<View> stop(String principal, String threadId, @Nullable String key) {
    if (key != null && key.length() > Bounds.KEY) {
      return failed(HostError.INVALID_KEY, HostError.INVALID_KEY.cause());
    }
    String callId = key == null ? null : CallLog.unrepliedId("stop " + key);
    ThreadInput stop = new ThreadInput.Stop(clock.millis());
    return view(keyed(principal, threadId, thread -> send(thread, principal, callId, stop)));
  }

  @Override
  public CompletionStage<View> proceed(String principal, String threadId, @Nullable Side side) {
    return apply(principal, threadId, new ThreadInput.Proceed(side, clock.millis()));
  }

  @Override
  public CompletionStage<View> answer(String principal, String threadId, Answer answer) {
    return apply(
        principal,
        threadId,
        new ThreadInput.Answer(
            answer.call(),
            answer.question(),
            answer.answerId(),
            answer.approved(),
            answer.answers(),
            answer.reason(),
            principal,
            clock.millis()));
  }

  @Override
  public CompletionStage<View> change(
      String principal, String threadId, @Nullable Set<String> tags, Map<String, String> env) {
    Set<String> all = tags == null ? null : Set.copyOf(tags);
    return apply(principal, threadId, new ThreadInput.Change(all, Bounds.env(env), clock.millis()));
  }

  @Override
  public CompletionStage<Void> delete(String principal, String threadId) {
    return keyed(
            principal,
            threadId,
            key -> send(key, principal, new ThreadInput.Delete(clock.millis())))
        .thenAccept(reply -> {});
  }

  private CompletionStage<View> apply(String principal, String threadId, ThreadInput input) {
    return view(keyed(principal, threadId, key -> send(key, principal, input)));
  }

  private CompletionStage<View> view(CompletionStage<ThreadReply> reply) {
    return reply.thenApplyAsync(ThreadViews::view, executor);
  }

  private static <T> CompletionStage<T> failed(HostError error, String message) {
    return CompletableFuture.failedFuture(new ThreadException(error, message));
  }

  /** What a principal asks; only the host itself asks without one, and of every thread. */
  private <T> CompletionStage<T> keyed(
      String principal, String threadId, Function<ThreadKey, CompletionStage<T>> action) {
    Objects.requireNonNull(principal, "principal");
    return keyed(threadId, action);
  }

  private <T> CompletionStage<T> keyed(
      String threadId, Function<ThreadKey, CompletionStage<T>> action) {
    ThreadKey key = ThreadKey.of(Objects.requireNonNull(threadId, "threadId"));
    return key != null
        ? action.apply(key)
        : CompletableFuture.failedFuture(ThreadJournals.unknown());
  }

  /** Whether the hosts have agreed on an agent; a thread of it may run on any of them. */
  boolean allHave(String agent) {
    return !gateway.awaitsOthers(SessionKey.threadOf(agent, ""));
  }

  /** A closing host refuses calls from outside; the state of a thread can still be read. */
  CompletionStage<ThreadReply> send(ThreadKey key, @Nullable String principal, ThreadInput input) {
    return send(key, principal, null, input);
  }

  private CompletionStage<ThreadReply> send(
      ThreadKey key, @Nullable String principal, @Nullable String callId, ThreadInput input) {
    return unlessClosed(
        principal, () -> ask(key, principal, callId, false, new Request.OfThread(input), TIMEOUT));
  }

  /**
   * As {@link #send}, to a thread that may no longer exist.
   *
   * @param callId recognises a repetition; null if the input does so itself
   */
  CompletionStage<Void> sendIfThere(ThreadKey key, @Nullable String callId, ThreadInput input) {
    return send(key, null, callId, input)
        .handle(
            (reply, thrown) -> {
              if (thrown != null && !isMissing(thrown)) {
                throw new CompletionException(RootCauses.of(thrown));
              }
              return null;
            });
  }

  static boolean isMissing(Throwable thrown) {
    ThreadException known = RootCauses.find(thrown, ThreadException.class);
    return known != null && known.is(HostError.UNKNOWN_THREAD);
  }

  /**
   * Erases a thread and then reports to its parent that it was deleted. The erasure does not depend
   * on the report: the thread or its parent may be unreadable.
   */
  public <T> CompletionStage<T> reportErased(
      String threadId, Supplier<CompletionStage<T>> erasure) {
    CompletionStage<ThreadState> last = keyed(threadId, key -> journals.state(key.entityId()));
    CompletionStage<T> erased =
        last.handle((child, unreadable) -> erasure.get()).thenCompose(erasing -> erasing);
    return erased
        .handle(
            (counts, failed) ->
                failed == null ? CompletableFuture.completedFuture(true) : isGone(threadId))
        .thenCompose(gone -> gone)
        .thenCompose(
            gone ->
                gone ? reportErased(threadId, last) : CompletableFuture.<Void>completedFuture(null))
        .thenCompose(reported -> erased);
  }

  /** An erasure that failed may have deleted the journal, and would not find it again. */
  private CompletionStage<Boolean> isGone(String threadId) {
    return keyed(threadId, key -> journals.state(key.entityId()))
        .handle((state, unreadable) -> unreadable == null && state.created() == null);
  }

  private CompletionStage<Void> reportErased(String threadId, CompletionStage<ThreadState> last) {
    return last.thenCompose(this::reportDeleted)
        .exceptionally(
            thrown -> {
              LOG.warn(
                  "The parent of the erased thread {} could not be informed; if it waits, stop it",
                  threadId,
                  thrown);
              return null;
            });
  }

  private CompletionStage<Void> reportDeleted(ThreadState child) {
    ThreadEvent.Created created = child.created();
    ThreadEvent.Parent parent = created == null ? null : created.parent();
    return parent == null
        ? CompletableFuture.completedFuture(null)
        : sendIfThere(
            ThreadKey.require(parent.threadId()),
            null,
            new ThreadInput.ChildDeleted(child.threadId(), child.usage(), clock.millis()));
  }

  /** Begins a thread whose key was just generated at random. */
  private CompletionStage<ThreadReply> begin(ThreadKey key, String principal, Request request) {
    return unlessClosed(principal, () -> ask(key, principal, null, true, request, TIMEOUT));
  }

  private <T> CompletionStage<T> unlessClosed(
      @Nullable String principal, Supplier<CompletionStage<T>> call) {
    return principal != null && closed.getAsBoolean()
        ? failed(HostError.SHUTTING_DOWN, "The server is shutting down; call again in a moment")
        : call.get();
  }

  /**
   * The flow behind a call of a thread has changed. If this is lost, the thread looks later: at a
   * flow that asks when somebody answers.
   */
  @SuppressWarnings("FutureReturnValueIgnored") // it logs its failures
  public void flowChanged(ThreadKey key, String call) {
    send(key, null, new ThreadInput.FlowChanged(call, clock.millis()))
        .whenComplete(
            (reply, thrown) -> {
              if (thrown != null) {
                LOG.debug("The thread {} looks at its flow later", key.threadId(), thrown);
              }
            });
  }

  /**
   * The state of a thread, for the host itself; from the journal if it is larger than hosts of a
   * cluster send each other.
   */
  public CompletionStage<ThreadState> state(String threadId) {
    return keyed(threadId, key -> look(key, null, null))
        .thenApply(ThreadReply::state)
        .exceptionallyCompose(
            thrown ->
                isTooLarge(thrown)
                    ? keyed(threadId, key -> journals.state(key.entityId()))
                    : CompletableFuture.failedFuture(thrown));
  }

  private static boolean isTooLarge(Throwable thrown) {
    ThreadException known = RootCauses.find(thrown, ThreadException.class);
    return known != null && known.is(HostError.REPLY_TOO_LARGE);
  }

  private CompletionStage<ThreadReply> look(
      String principal, String threadId, @Nullable Duration settling) {
    return keyed(principal, threadId, key -> look(key, principal, settling));
  }

  private CompletionStage<ThreadReply> look(
      ThreadKey key, @Nullable String principal, @Nullable Duration settling) {
    return ask(
        key,
        principal,
        null,
        false,
        new Request.View(settling != null),
        settling == null ? TIMEOUT : settling);
  }

  private CompletionStage<ThreadReply> ask(
      ThreadKey key,
      @Nullable String principal,
      @Nullable String callId,
      boolean fresh,
      Request request,
      Duration timeout) {
    Entry.Origin origin = principal == null ? Entry.Origin.HOST : Entry.Origin.caller(principal);
    return gateway
        .call(key, origin, callId, fresh, request, timeout, trace)
        .thenApply(AgentThreads::checked);
  }

  private static ThreadReply checked(ThreadReply reply) {
    Outcome.Failure failure = reply.failure();
    if (failure != null) {
      throw new ThreadException(failure);
    }
    return reply;
  }

  // --- stored data ----------------------------------------------------------------------------

  @Override
  public CompletionStage<Messages> messages(String principal, String threadId, MessageQuery query) {
    return owned(principal, threadId).thenCompose(key -> journals.messages(key.entityId(), query));
  }

  @Override
  public CompletionStage<Attachment> file(String principal, String threadId, String path) {
    return look(principal, threadId, null)
        .thenComposeAsync(
            reply -> {
              ThreadStorage.StoredFile file = reply.state().stored().files().get(path);
              ThreadKey key = Objects.requireNonNull(ThreadKey.of(threadId));
              if (file == null) {
                return failed(HostError.UNKNOWN_FILE, "The thread has no file " + path);
              }
              return journals
                  .bytes(key.entityId(), file)
                  .thenApply(data -> new Attachment(path, file.mimeType(), data));
            },
            executor);
  }

  @Override
  public CompletionStage<Listing> list(Query query) {
    DirectoryQuery wanted;
    try {
      wanted =
          DirectoryQuery.of(ThreadViews.KIND)
              .statuses(query.status() == null ? Set.of() : Set.of(RunJson.name(query.status())))
              .belongingTo(SessionKey.lookup(query.principal()))
              .named(query.agent())
              .tagged(query.tags().toArray(String[]::new))
              .containing(query.text())
              .orderedBy(
                  query.byActivity()
                      ? DirectoryQuery.Order.ACTIVITY
                      : DirectoryQuery.Order.CREATION)
              .limitedTo(query.limit())
              .after(query.cursor());
    } catch (IllegalArgumentException e) {
      return failed(HostError.INVALID_QUERY, String.valueOf(e.getMessage()));
    }
    return unlessClosed(
        query.principal(),
        () ->
            StoreErrors.translated(store.directory().list(wanted))
                .thenApplyAsync(
                    page ->
                        new Listing(
                            page.entries().stream().map(ThreadViews::listed).toList(), page.next()),
                    executor));
  }

  @Override
  public CompletionStage<Feed> follow(
      String principal, String threadId, long offset, int index, Listener listener) {
    return owned(principal, threadId)
        .thenComposeAsync(
            key ->
                journals
                    .reached(key.entityId(), index < 0 ? offset - 1 : offset)
                    .thenApply(reached -> key))
        .thenApplyAsync(
            key -> {
              ThreadFeed feed =
                  new ThreadFeed(
                      key.entityId(),
                      offset,
                      index,
                      listener,
                      (from, max, received) -> journals.read(key.entityId(), from, max, received),
                      subscriptions,
                      feedThreads);
              subscriptions.add(key.entityId(), feed);
              if (closed.getAsBoolean()) { // since the subscriptions of this host were ended
                feed.ended(null);
              }
              return feed;
            },
            executor);
  }

  /** The key of a thread of a principal, without waking the thread. */
  private CompletionStage<ThreadKey> owned(String principal, String threadId) {
    return keyed(
        principal,
        threadId,
        key ->
            unlessClosed(
                principal,
                () ->
                    StoreErrors.translated(store.directory().get(key.entityId()))
                        .thenApplyAsync(
                            entry -> {
                              if (entry
                                  .map(DirectoryEntry::principal)
                                  .filter(SessionKey.lookup(principal)::equals)
                                  .isEmpty()) {
                                throw ThreadJournals.unknown();
                              }
                              return key;
                            },
                            executor)));
  }
}
