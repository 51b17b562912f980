package io.fermata.session.host;

import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.RunEvents;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.actor.Gateway;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.Request;
import io.fermata.session.call.ToolReply;
import io.fermata.session.call.ToolUse;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalPages;
import io.fermata.session.journal.RunEnd;
import io.fermata.session.journal.StoreErrors;
import io.fermata.session.key.Handles;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Forks runs. The fork of a run of the store is a new session of the source's owner, so that what
 * erases the owner erases the fork; its first entry has what happened in the source, encrypted
 * under its own name.
 *
 * @param agents whether the host has an agent of a name
 * @param threads reads journals
 */
public record RunForks(
    OpenStore store,
    Encryption encryption,
    FlowCatalog catalog,
    Predicate<String> agents,
    Gateway gateway,
    Handles handles,
    Eraser eraser,
    InstantSource clock,
    Executor threads) {
  /** The journal of a run's session as far as it was read. */
  private static final class Source {
    final String entityId;
    final String flow;
    final String runId;
    final List<JournalEntry<Event>> entries = new ArrayList<>();
    Entry.@Nullable Owner owner;
    final RunEvents own;
    long bytes;

    Source(String flow, String runId) {
      this.entityId = SessionKey.entityOf(flow, runId);
      this.flow = flow;
      this.runId = runId;
      this.own = RunEvents.of(runId);
    }

    /** The owner is that of the session: all its runs have the same. */
    Source add(Entry<?> entry, int size) {
      Entry.Owner starter = entry.origin().owner();
      owner = starter == null ? owner : starter;
      JournalEntry<Event> next = entry.ofRun();
      List<Event> events = own.in(next.events());
      if (!events.isEmpty()) {
        bytes += size;
        requireShort();
        entries.add(next.with(events));
      }
      return this;
    }

    private void requireShort() {
      if (bytes > JournalPages.LONGEST_WHOLE) {
        throw new ForkException(
            HostError.RUN_TOO_LARGE.wireName(),
            "The journal of run %s of %s has more than %s MiB, so it cannot be forked; start a new run"
                .formatted(runId, flow, JournalPages.LONGEST_WHOLE >> 20));
      }
    }

    long first() {
      return entries.get(0).seq();
    }

    boolean has(Entry<?> entry) {
      RunEnd end = entry.end();
      return (end != null && end.runId().equals(runId))
          || !RunEvents.of(runId).in(entry.ofRun().events()).isEmpty();
    }

    RunJournal journal() {
      return new RunJournal(flow, runId, entries);
    }
  }

  /**
   * Forks a run of the store.
   *
   * @param shown what the caller gets to see of the reply that refuses it
   */
  public CompletionStage<Fork> fork(
      String flow, String runId, long entry, ForkOptions options, UnaryOperator<ToolReply> shown) {
    if (!catalog.has(flow)) {
      return CompletableFuture.failedFuture(unknown(flow));
    }
    return translated(
        read(new Source(flow, runId))
            .thenComposeAsync(
                source -> {
                  RunJournal journal = source.journal();
                  return owner(source, journal)
                      .thenComposeAsync(
                          owner -> fork(journal, entry, owner, options, shown), threads)
                      .thenCompose(fork -> unlessErased(source, fork));
                },
                threads));
  }

  /**
   * Forks a run of which only the journal is known.
   *
   * @param owner the principal whose run the fork is
   */
  public CompletionStage<Fork> fork(
      RunJournal journal,
      long entry,
      String owner,
      ForkOptions options,
      UnaryOperator<ToolReply> shown) {
    String flow = journal.flow();
    if (!catalog.has(flow)) {
      return CompletableFuture.failedFuture(unknown(flow));
    }
    SessionKey key =
        gateway.keyOfFork(() -> new SessionKey(owner, flow, handles.mint()), SessionKey::entityId);
    String forkId = SessionKey.newRunId(key.entityId(), 0);
    String by = Objects.requireNonNullElse(options.by(), owner);
    List<Event> events;
    try {
      events = journal.fork(entry, forkId, options.by(by), clock.millis());
    } catch (ForkException e) {
      return CompletableFuture.failedFuture(e);
    }
    Request.Fork fork = new Request.Fork(events, options.version());
    return gateway
        .fork(key, by, Request.OfRun.fork(fork, options.answers()))
        .thenApplyAsync(
            reply -> {
              if (isRefused(reply)) {
                throw refused(shown.apply(reply));
              }
              return new Fork(flow, forkId, owner, key.session(), reply);
            },
            threads);
  }

  private ForkException unknown(String flow) {
    return new ForkException(
        ErrorCode.UNKNOWN_RUN.wireName(),
        agents.test(flow)
            ? flow + " is an agent; fork one of its threads with threads().fork"
            : "The host has no flow " + flow + "; register it to fork its runs");
  }

  private CompletionStage<Source> read(Source source) {
    if (!SessionKey.isOfRun(source.entityId)) {
      return CompletableFuture.completedFuture(source);
    }
    return JournalPages.foldAsync(
        store,
        source.entityId,
        0,
        source,
        (read, stored) ->
            read.add(encryption.read(source.entityId, stored), stored.payload().length),
        threads);
  }

  /** Whose run the fork is: the owner of the source, or of the thread that called it. */
  private CompletionStage<String> owner(Source source, RunJournal journal) {
    Entry.Owner owner = source.owner;
    if (owner == null || journal.entries().isEmpty()) {
      throw unknown(source);
    } else if (!owner.principal().equals(SessionKey.TOOLS)) {
      return CompletableFuture.completedFuture(owner.principal());
    }
    ThreadKey caller = ThreadKey.caller(owner.session());
    if (caller == null) {
      throw new ForkException(
          "may_not_fork",
          "Run %s of %s is a call of %s, which is no thread, so no principal owns it; fork its journal for one, with fork(journal, entry, principal, options)"
              .formatted(
                  source.runId, source.flow, ToolUse.of(source.flow, owner.session()).caller()));
    }
    return store
        .read(caller.entityId(), 1, 1)
        .thenApplyAsync(
            first ->
                first.stream()
                    .flatMap(stored -> encryption.read(caller.entityId(), stored).events().stream())
                    .filter(ThreadEvent.Created.class::isInstance)
                    .map(event -> ((ThreadEvent.Created) event).principal())
                    .findFirst()
                    // What a thread has called is erased with it.
                    .orElseThrow(() -> unknown(source)),
            threads);
  }

  private static ForkException unknown(Source source) {
    return new ForkException(
        ErrorCode.UNKNOWN_RUN.wireName(),
        "The store has no journal of a run %s of %s; the journal of an ended run is kept for the host's retention"
            .formatted(source.runId, source.flow));
  }

  /** A session that was erased may have begun again, with other runs. */
  private CompletionStage<Fork> unlessErased(Source source, Fork fork) {
    CompletionStage<Fork> kept =
        hasRun(source, store.readBack(source.entityId, Long.MAX_VALUE, 1))
            .thenCompose(
                there ->
                    there
                        ? CompletableFuture.completedFuture(true)
                        : hasRun(source, store.read(source.entityId, source.first(), 1)))
            .thenApply(
                there -> {
                  if (!there) {
                    throw unknown(source);
                  }
                  return fork;
                });
    String entityId = SessionKey.entityOf(fork.flow(), fork.runId());
    return ForkRemoval.unlessKept(
        kept,
        fork.runId() + " of " + fork.flow(),
        () -> eraser.erase(new SessionScope(Set.of(entityId), Set.of())));
  }

  /** Whether the very run that was copied begins or has ended in an entry. */
  private CompletionStage<Boolean> hasRun(
      Source source, CompletionStage<List<StoredEntry>> records) {
    return records.thenApplyAsync(
        entries ->
            entries.stream()
                .map(stored -> encryption.read(source.entityId, stored))
                .anyMatch(source::has),
        threads);
  }

  /** What is refused has no run. */
  private static boolean isRefused(ToolReply reply) {
    return reply.error() && !reply.meta().has("fermata/run");
  }

  private static ForkException refused(ToolReply reply) {
    String code = reply.structured().path("code").asText();
    String error =
        reply
            .structured()
            .path("error")
            .asText(
                "The fork was refused; why is not quoted, as the run's secrets are unreadable.");
    boolean past = code.equals(ErrorCode.RESET_PAST_ONCE.wireName());
    return new ForkException(code, past ? error + " Or fork at an entry before that step." : error);
  }

  /** Why a journal cannot be read is why it cannot be forked. */
  private static <T> CompletionStage<T> translated(CompletionStage<T> stage) {
    return StoreErrors.translated(stage)
        .exceptionallyCompose(
            thrown ->
                CompletableFuture.failedFuture(
                    RootCauses.of(thrown) instanceof ThreadException why
                        ? new ForkException(why.code(), String.valueOf(why.getMessage()))
                        : thrown));
  }
}
