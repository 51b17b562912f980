package io.fermata.session.thread;

import io.fermata.agent.engine.Outside;
import io.fermata.agent.engine.ThreadProgram;
import io.fermata.agent.model.Usage;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.SourceResults;
import io.fermata.agent.state.ThreadEffect;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadInput;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.session.actor.Calls.Waiting;
import io.fermata.session.actor.Effects;
import io.fermata.session.actor.SessionCommand;
import io.fermata.session.actor.SessionCommand.Call;
import io.fermata.session.actor.SessionHost;
import io.fermata.session.actor.SessionPort;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.Request;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.journal.SessionState;
import io.fermata.session.journal.ThreadReply;
import io.fermata.session.key.HostError;
import io.fermata.session.key.LogLabels;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.key.TraceContext;
import io.fermata.session.observe.Activity;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The port of an agent's threads. Each call is persisted and then replied to at once. */
public final class ThreadPort
    implements SessionPort<
        ThreadState, ThreadInput, ThreadEvent, ThreadEffect, ThreadInput.Result, Outside> {

  private final Handle session;
  private final SessionHost host;
  private final ThreadProgram program;

  /** The calls whose flows have changed while the thread looks at them. */
  private final Set<String> changed = new HashSet<>();

  /** How many entries at the end of the journal have no events; lists do not show them. */
  private int eventless;

  public ThreadPort(Handle session) {
    this.session = session;
    this.host = session.host();
    this.program = host.threading().program();
  }

  // --- the program ----------------------------------------------------------------------------

  @Override
  public ThreadProgram program(ThreadState state) {
    return program;
  }

  @Override
  public ThreadProgram newest() {
    return program;
  }

  @Override
  public ThreadState ended(Entry<ThreadEvent> entry) {
    throw new IllegalStateException("A thread has no entry that ends it");
  }

  @Override
  public String decider(List<ThreadEvent> events) {
    return "agent " + ThreadKey.ofEntity(session.entityId()).agent();
  }

  @Override
  public String mayBlock() {
    return "a tool or a hook, out of approval(…)";
  }

  @Override
  public boolean onlyWaits(ThreadEffect timer) {
    return timer.backgroundTimer();
  }

  @Override
  public boolean works(ThreadState state) {
    return program.next(state) instanceof Program.Perform<ThreadEffect>;
  }

  // --- calls ----------------------------------------------------------------------------------

  @Override
  public @Nullable SessionReply known(Situation<ThreadState, ThreadEvent> at, Call call) {
    ThreadState state = at.ahead();
    if (!isOwner(state, call.origin())) {
      return refused(at, ThreadReply.UNKNOWN);
    } else if (call.request() instanceof Request.View view) {
      return state.exists() ? viewed(at, view) : refused(at, ThreadReply.UNKNOWN);
    }
    // Its client, or another host, has sent it again.
    boolean past = state.exists() && at.state().calls().isPast(call.callId());
    return past ? reply(state, at.seq(), false) : null;
  }

  private @Nullable ThreadReply viewed(Situation<ThreadState, ThreadEvent> at, Request.View view) {
    ThreadReply now = reply(at.ahead(), at.seq(), false);
    return view.settled() && now.status() == Threads.Status.WORKING ? null : now;
  }

  /** A thread that does not exist yet is open to any caller; the host may call every thread. */
  private static boolean isOwner(ThreadState state, Entry.Origin by) {
    ThreadEvent.Created created = state.created();
    return by.principal() == null || created == null || created.principal().equals(by.principal());
  }

  @Override
  public Admission<ThreadInput, ThreadEvent> admit(
      Situation<ThreadState, ThreadEvent> at, Call call) {
    if (call.request() instanceof Request.ForkThread fork) {
      return forked(at, fork);
    }
    if (!(call.request() instanceof Request.OfThread request)) {
      return new Answer<>(reply(at.ahead(), at.seq(), false));
    }
    if (request.input() instanceof ThreadInput.FlowChanged flow && looks(at.ahead(), flow.call())) {
      changed.add(flow.call());
    }
    return beyondQuota(at.ahead(), request.input())
        ? new Answer<>(refused(at, tooManyThreads()))
        : new Accept<>(request.input());
  }

  private static boolean looks(ThreadState state, String key) {
    CallState call = state.call(key);
    return call != null && call.phase() == CallState.Phase.RUNNING;
  }

  /** Looks once more at flows that changed during a look, which may have come too early. */
  private void lookAgain(ThreadState state) {
    for (String key : Set.copyOf(changed)) {
      if (!looks(state, key)) {
        changed.remove(key);
        CallState call = state.call(key);
        if (call != null && call.waitsForFlow()) {
          host.threading().flowChanged().accept(ThreadKey.ofEntity(session.entityId()), key);
        }
      }
    }
  }

  /** Whether somebody wants more threads than it may have; what its threads create has no quota. */
  private boolean beyondQuota(ThreadState state, ThreadInput input) {
    return input instanceof ThreadInput.Create create
        && create.parent() == null
        && state.created() == null
        && host.listing().threads().full(create.principal());
  }

  private Outcome.Failure tooManyThreads() {
    return HostError.TOO_MANY_THREADS.failure(
        HostError.TOO_MANY_THREADS.cause() + ": " + host.listing().threads().most());
  }

  /** A fork begins with the entries of its source; then it is a thread like any other. */
  private Admission<ThreadInput, ThreadEvent> forked(
      Situation<ThreadState, ThreadEvent> at, Request.ForkThread fork) {
    if (at.ahead().created() != null) {
      return new Answer<>(reply(at.ahead(), at.seq(), false));
    }
    ThreadEvent.Created source = fork.source().state().created();
    if (source != null && host.listing().threads().full(source.principal())) {
      return new Answer<>(refused(at, tooManyThreads()));
    }
    Program.Acceptance<ThreadState, ThreadEvent> begun =
        program.accept(fork.source().state(), fork.input());
    session.threw(begun, new Quotable(fork.source().events(), fork.source().state()));
    if (begun instanceof Program.Refused<ThreadState, ThreadEvent> refused) {
      return new Answer<>(refused(at, refused.failure()));
    }
    if (fork.encrypted()) {
      session.encryptWhole();
    }
    List<ThreadEvent> events = new ArrayList<>(fork.source().events());
    events.addAll(((Program.Accepted<ThreadState, ThreadEvent>) begun).events());
    return new Happen<>(events, false);
  }

  @Override
  public boolean resumes(ThreadState state, long now) {
    Program.Next<ThreadEffect> next = program.next(state);
    return next instanceof Program.Perform<ThreadEffect>
        || (next instanceof Program.Pause<ThreadEffect> pause && !pause.timers().isEmpty());
  }

  @Override
  public boolean lacks(ThreadState state) {
    return !program.held(state).isEmpty();
  }

  @Override
  public Admission<ThreadInput, ThreadEvent> resume(
      Situation<ThreadState, ThreadEvent> at, Set<String> running) {
    return new Accept<>(new ThreadInput.Recovered(running, at.now()));
  }

  @Override
  public boolean settles(ThreadState state, List<ThreadEffect> outstanding) {
    return ThreadViews.status(state, outstanding) != Threads.Status.WORKING;
  }

  private Threads.Status status(ThreadState state) {
    return ThreadViews.status(program, state);
  }

  /** A view waits until the thread rests or asks, also while a child works. */
  @Override
  public boolean waitsFor(
      Situation<ThreadState, ThreadEvent> at, Program.Pause<ThreadEffect> pause) {
    Waiting current = at.current();
    return current != null
        && current.listeners().stream().anyMatch(call -> call.request() instanceof Request.View)
        && ThreadViews.status(at.ahead(), pause.timers()) == Threads.Status.WORKING;
  }

  // --- replies and entries --------------------------------------------------------------------

  private ThreadReply reply(ThreadState state, long seq, boolean changed) {
    return new ThreadReply(state, status(state), program.held(state), seq, changed, null);
  }

  @Override
  public SessionReply refused(Situation<ThreadState, ThreadEvent> at, Outcome.Failure why) {
    return new ThreadReply(at.ahead(), status(at.ahead()), List.of(), at.seq(), false, why);
  }

  @Override
  public Written<ThreadEvent> settled(
      Situation<ThreadState, ThreadEvent> at,
      Program.Next<ThreadEffect> next,
      boolean again,
      List<ThreadEffect> beside) {
    return written(at);
  }

  @Override
  public Written<ThreadEvent> working(Situation<ThreadState, ThreadEvent> at) {
    return written(at);
  }

  @Override
  public Written<ThreadEvent> acknowledged(Situation<ThreadState, ThreadEvent> at, Waiting call) {
    return written(at);
  }

  @Override
  public Written<ThreadEvent> detached(Situation<ThreadState, ThreadEvent> at, Waiting call) {
    return written(at);
  }

  private Written<ThreadEvent> written(Situation<ThreadState, ThreadEvent> at) {
    List<Entry<ThreadEvent>> entries = entries(at);
    ThreadReply reply =
        at.current() == null
            ? null
            : reply(at.ahead(), at.seq() + entries.size(), !entries.isEmpty());
    return new Written<>(entries, reply);
  }

  private List<Entry<ThreadEvent>> entries(Situation<ThreadState, ThreadEvent> at) {
    if (!at.hasEvents() && !isNamedStop(at)) {
      return List.of();
    }
    List<Entry<ThreadEvent>> entries = new ArrayList<>();
    List<ThreadEvent> own = at.unjournaled();
    if (at.seq() == 0
        && at.current() != null
        && at.current().call.request() instanceof Request.ForkThread fork) {
      fork.source().entries().forEach(entry -> entries.add(Entry.of(entry)));
      own = own.subList(fork.source().events().size(), own.size());
    }
    entries.add(entry(at.after(entries.size(), own)));
    return entries;
  }

  /** A stop that found nothing to stop is remembered, too: it may be repeated in the next turn. */
  private static boolean isNamedStop(Situation<ThreadState, ThreadEvent> at) {
    Waiting current = at.current();
    return current != null
        && current.call.callId() != null
        && current.call.request() instanceof Request.OfThread request
        && request.input() instanceof ThreadInput.Stop;
  }

  private Entry<ThreadEvent> entry(Situation<ThreadState, ThreadEvent> at) {
    String callId = at.current() == null ? null : at.current().call.callId();
    List<String> calls = callId == null ? List.of() : List.of(callId);
    // What a thread without its agent waits for is known to a release that has it.
    Entry.Wake wake =
        program.lacksAgent(at.ahead()) ? at.state().wake() : wake(program.next(at.ahead()));
    return at.entry().belongingTo(calls, null).waking(wake);
  }

  @Override
  public Entry.@Nullable Wake wake(Program.Next<ThreadEffect> next) {
    return next instanceof Program.Pause<ThreadEffect> pause
        ? Entry.Wake.at(pause.until())
        : Entry.Wake.NOW;
  }

  @Override
  public Written<ThreadEvent> withdrawn(Situation<ThreadState, ThreadEvent> at, Waiting call) {
    return new Written<>(List.of(), refused(at, HostError.BUSY.failure()));
  }

  // --- the journal ----------------------------------------------------------------------------

  @Override
  public void applied(Entry<ThreadEvent> entry, ThreadState before, ThreadState after) {
    eventless = entry.events().isEmpty() ? eventless + 1 : 0;
  }

  /** The directory may lag behind the journal after a crash. */
  @Override
  public void recovered(SessionState<ThreadState> state) {
    if (state.program().exists()) {
      host.listing()
          .directory()
          .get(session.entityId())
          // What cannot be read is listed again.
          .exceptionally(failed -> Optional.empty())
          .thenAccept(
              entry ->
                  session
                      .self()
                      .tell(
                          new SessionCommand.Listed(entry.map(DirectoryEntry::seq).orElse(null))));
    }
  }

  @Override
  public void listed(SessionState<ThreadState> state, long seq, @Nullable Long listed) {
    if (listed == null || listed < seq - eventless) {
      list(state.program());
    }
  }

  private void list(ThreadState state) {
    if (state.exists()) {
      host.listing()
          .sessions()
          .threadChanged(
              ThreadViews.entry(session.entityId(), state, program, session.seq(), host.now()));
    } else {
      host.listing().sessions().threadDeleted(session.entityId());
    }
  }

  /** The directory is updated later; only the creation of a thread waits for it. */
  @Override
  public @Nullable CompletionStage<?> persisted(
      SessionState<ThreadState> before,
      List<Entry<ThreadEvent>> entries,
      SessionState<ThreadState> after,
      ThreadState ahead,
      @Nullable Waiting current) {
    boolean creates = current != null && current.call.request().begins();
    SessionSubscriptions subscriptions = host.observers().subscriptions();
    // What happened in the source of a fork was published and counted there.
    for (Entry<ThreadEvent> entry :
        entries.subList(Math.max(0, entries.size() - 1), entries.size())) {
      subscriptions.persisted(session.entityId(), entry, ahead.deleted());
      entry.events().forEach(event -> report(event, before.program()));
    }
    lookAgain(ahead);
    if (entries.stream().anyMatch(entry -> !entry.events().isEmpty()) || creates) {
      list(after.program());
      count(before.program(), after.program());
    }
    return creates && after.program().exists() ? host.listing().sessions().entered() : null;
  }

  /** After it is listed, as a count may read the list. */
  private void count(ThreadState before, ThreadState after) {
    if (!before.exists() && after.exists()) {
      host.listing().threads().began(after.begun().principal());
    } else if (before.exists() && !after.exists()) {
      host.listing().threads().ended(before.begun().principal());
    }
  }

  /** What a fork took from its source was counted there. */
  private void report(ThreadEvent event, ThreadState before) {
    SourceResults known = before.sourceResults();
    if (event instanceof ThreadEvent.StepEnded ended) {
      if (known.reply(ended.log().id(), ended.log().asked()) == null) {
        modelReplied(before, ended.log().model(), ended.log().usage());
      }
    } else if (event instanceof ThreadEvent.Compacted compacted
        && compacted.model() != null
        && !known.has(compacted)) {
      modelReplied(before, compacted.model(), compacted.usage());
    }
  }

  private void modelReplied(ThreadState asking, String model, Usage usage) {
    String agent = asking.agent();
    tokens(agent, model, "input", usage.inputTokens() - usage.cachedTokens());
    tokens(agent, model, "cached", usage.cachedTokens());
    tokens(agent, model, "output", usage.outputTokens());
    host.telemetry().measured(Meter.COST, usage.cost().doubleValue(), List.of(agent, model));
  }

  private void tokens(String agent, String model, String kind, long count) {
    host.telemetry().measured(Meter.TOKENS, (double) count, List.of(agent, model, kind));
  }

  // --- effects --------------------------------------------------------------------------------

  @Override
  public void label(LogLabels labels, ThreadState state) {
    labels.with(LogLabels.THREAD, ThreadKey.ofEntity(session.entityId()).threadId());
  }

  @Override
  public boolean endsSession(ThreadEffect effect) {
    return effect.kind() == ThreadEffect.Kind.ERASE;
  }

  @Override
  public @Nullable String failure(ThreadEffect effect, ThreadInput.Result result) {
    return failure(result);
  }

  private static @Nullable String failure(ThreadInput.Result result) {
    if (result instanceof ThreadInput.Unanswered unanswered) {
      return unanswered.reason();
    } else if (result instanceof ThreadInput.Summed summed && summed.summary() == null) {
      return "The summary is empty";
    }
    return result instanceof ThreadInput.Failed failed
        ? failed.detail() == null ? failed.reason() : failed.detail()
        : null;
  }

  @Override
  public @Nullable Throwable thrown(ThreadInput.Result result) {
    if (result instanceof ThreadInput.Unanswered unanswered) {
      return unanswered.thrown();
    }
    return result instanceof ThreadInput.Failed failed ? failed.thrown() : null;
  }

  @Override
  public Effects.Performer<ThreadEffect, ThreadInput.Result> performer(
      Program<ThreadState, ThreadInput, ThreadEvent, ThreadEffect, ThreadInput.Result, Outside>
          running,
      Situation<ThreadState, ThreadEvent> at,
      TraceContext cause) {
    String threadId = at.ahead().threadId();
    Function<BooleanSupplier, Outside> outside =
        cancelled -> host.threading().outside().apply(threadId, cancelled);
    return new TurnPerformer(program, at.ahead(), outside, session.entityId(), cause);
  }

  /** Performs the effects of a thread in one of its states. */
  private record TurnPerformer(
      ThreadProgram program,
      ThreadState state,
      Function<BooleanSupplier, Outside> outside,
      String entityId,
      TraceContext cause)
      implements Effects.Performer<ThreadEffect, ThreadInput.Result> {
    @Override
    public CompletionStage<ThreadInput.Result> perform(
        ThreadEffect effect, Consumer<ToolProgress> progress, BooleanSupplier cancelled) {
      return program.perform(state, effect, outside.apply(cancelled));
    }

    @Override
    public ThreadInput.Result failed(ThreadEffect effect, Throwable thrown) {
      return program.failed(effect, thrown);
    }

    @Override
    public Telemetry.Effect described(ThreadEffect effect) {
      String kind = effect.kind().name().toLowerCase(Locale.ROOT);
      String agent = program.agentOf(state, effect);
      return new Telemetry.Effect(
          Telemetry.Kind.AGENT, agent, 0, state.threadId(), kind, kind, effect.attempt(), cause);
    }

    @Override
    public String described(ThreadInput.Result result) {
      return failure(result) == null ? Activity.End.OK : Activity.End.FAILED;
    }

    @Override
    public LogLabels labels(ThreadEffect effect) {
      return LogLabels.on()
          .session(entityId)
          .with(LogLabels.THREAD, state.threadId())
          .with(LogLabels.ATTEMPT, String.valueOf(effect.attempt()));
    }
  }
}
