package io.fermata.session.host;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.actor.Gateway;
import io.fermata.session.admin.Erased;
import io.fermata.session.admin.Erasure;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.call.Request;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.CallLog;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.JournalPages;
import io.fermata.session.journal.StoreErrors;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.SessionKey;
import io.fermata.session.run.RunReplies;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The runs of a host: listed from its store, forked, and operated by commands to their sessions, as
 * a call of their owner is one, so any host of a cluster can. What an operator gets has no secrets;
 * the outcome of a run stays for its owner to fetch.
 *
 * @param listed what the store lists
 * @param eraser erases what a host erases
 * @param threads may block
 * @param closed whether the host is closed, whose threads that read journals stop
 */
public record HostRuns(
    Runs listed,
    RunForks forks,
    RunAccounts accounts,
    OpenStore store,
    Encryption encryption,
    FlowCatalog catalog,
    Gateway gateway,
    Function<Erasure, CompletionStage<Erased>> eraser,
    Executor threads,
    BooleanSupplier closed)
    implements Runs {
  private static final Logger LOG = LoggerFactory.getLogger(HostRuns.class);

  /** What a reply says without quoting anything of its run. */
  private static final List<String> STRUCTURAL = List.of("status", "code", "cancelled");

  @Override
  public CompletionStage<Page> list(RunQuery query) {
    return whileOpen(() -> listed.list(query));
  }

  @Override
  public CompletionStage<Integer> count(RunQuery query, int most) {
    return whileOpen(() -> listed.count(query, most));
  }

  @Override
  public CompletionStage<Optional<RunInfo>> get(String flow, String runId) {
    return whileOpen(() -> listed.get(flow, runId));
  }

  @Override
  public CompletionStage<Rebuilt> rebuild() {
    return whileOpen(listed::rebuild);
  }

  @Override
  public CompletionStage<List<Entry>> entries(String flow, String runId, long after, int limit) {
    return whileOpen(() -> accounts.read(flow, runId, after, limit));
  }

  @Override
  public CompletionStage<ToolReply> status(String flow, String runId) {
    return commanded(
        flow, runId, null, null, Request.OfRun.of(CallAction.STATUS, Json.object(), null));
  }

  @Override
  public CompletionStage<ToolReply> cancel(String flow, String runId, String by) {
    return commanded(
        flow, runId, by, null, Request.OfRun.of(CallAction.CANCEL, Json.object(), only(runId)));
  }

  @Override
  public CompletionStage<ToolReply> resolve(
      String flow, String runId, Input.Resolution resolution, String by, @Nullable String key) {
    String callId = key == null ? null : CallLog.nameOf("operator", runId, by, key);
    return commanded(flow, runId, by, callId, Request.OfRun.resolve(resolution, only(runId)));
  }

  @Override
  public CompletionStage<Fork> fork(String flow, String runId, long entry, ForkOptions options) {
    if (closed.getAsBoolean()) {
      Outcome.Failure closing = HostError.SHUTTING_DOWN.failure();
      return CompletableFuture.failedFuture(new ForkException(closing.code(), closing.message()));
    }
    return forks
        .fork(
            flow,
            runId,
            entry,
            options,
            // It may quote its source, which may be an earlier run of its journal.
            refusal -> redacted(flow, runId, run -> !run.runId().isEmpty(), refusal))
        .thenApplyAsync(
            fork -> fork.replying(redacted(flow, fork.runId(), isOf(fork.runId()), fork.reply())),
            threads);
  }

  @Override
  public CompletionStage<Erased> erase(String flow, String runId) {
    // Sessions share one namespace, and a thread is not erased as a run.
    return SessionKey.isOfRun(SessionKey.entityOf(flow, runId))
        ? erase(Erasure.run(flow, runId))
        : CompletableFuture.completedFuture(Erased.of(Deleted.NOTHING, 0));
  }

  @Override
  public CompletionStage<Erased> erasePrincipal(String principal) {
    return erase(Erasure.principal(principal));
  }

  private CompletionStage<Erased> erase(Erasure what) {
    return whileOpen(() -> eraser.apply(what).exceptionallyCompose(HostRuns::refused));
  }

  private <T> CompletionStage<T> whileOpen(Supplier<CompletionStage<T>> asked) {
    return closed.getAsBoolean()
        ? CompletableFuture.failedFuture(new ThreadException(HostError.SHUTTING_DOWN.failure()))
        : asked.get();
  }

  /** What did not stop, or is left, can be erased later. */
  private static CompletionStage<Erased> refused(Throwable thrown) {
    String later = later(thrown);
    Throwable failure =
        later == null ? thrown : new ThreadException(HostError.STORE_UNAVAILABLE, later);
    return StoreErrors.translated(CompletableFuture.failedFuture(failure));
  }

  private static @Nullable String later(Throwable thrown) {
    Throwable failure = RootCauses.of(thrown);
    if (failure instanceof Eraser.ErasedInPart part) {
      return part.forClients();
    }
    return failure instanceof IllegalStateException ? failure.getMessage() : null;
  }

  private static Request.Only only(String runId) {
    return new Request.Only(runId, null, null);
  }

  private CompletionStage<ToolReply> commanded(
      String flow,
      String runId,
      @Nullable String by,
      @Nullable String callId,
      Request.OfRun request) {
    if (!catalog.has(flow)) {
      return CompletableFuture.completedFuture(
          unknown(
              Outcome.Failure.of(
                  ErrorCode.UNKNOWN_RUN,
                  "The host has no flow " + flow + "; register it to operate its runs")));
    }
    return gateway
        .operate(SessionKey.entityOf(flow, runId), by, callId, request)
        .thenApplyAsync(
            reply ->
                isOfAnother(runId, reply)
                    ? unknown(RunReplies.noRun(flow, runId))
                    : redacted(flow, runId, isOf(runId), reply),
            threads);
  }

  /** A session has one run at a time, and replies about that; where it has none, of another. */
  private static boolean isOfAnother(String runId, ToolReply reply) {
    String code = reply.structured().path("code").asText();
    JsonNode about = reply.meta().path("fermata/run").path("runId");
    return code.equals(ErrorCode.UNKNOWN_RUN.wireName())
        || (about.isTextual()
            ? !about.textValue().equals(runId)
            : code.equals(HostError.STALE_CALL.wireName()));
  }

  private static ToolReply unknown(Outcome.Failure failure) {
    return new ToolReply(OutcomeJson.body(failure), Json.object());
  }

  // --- secrets --------------------------------------------------------------------------------

  /**
   * The reply without secrets. Where the journal no longer has the run, its secrets are not known,
   * so nothing is quoted.
   */
  private ToolReply redacted(
      String flow, String runId, Predicate<RunState> latest, ToolReply reply) {
    SecretFields fields = catalog.secretFields(flow);
    if (fields.isEmpty()) {
      return reply;
    }
    Secrets secrets = secrets(SessionKey.entityOf(flow, runId), latest, fields);
    ObjectNode body = reply.structured();
    ObjectNode kept = secrets == null ? Json.object() : (ObjectNode) secrets.masked(body);
    for (String name : STRUCTURAL) {
      if (body.has(name)) {
        kept.set(name, body.get(name));
      }
    }
    return new ToolReply(kept, reply.meta());
  }

  private static Predicate<RunState> isOf(String runId) {
    return run -> run.runId().equals(runId);
  }

  /** The secrets in a journal; null unless its latest run is the one that is expected. */
  private @Nullable Secrets secrets(
      String entityId, Predicate<RunState> latest, SecretFields fields) {
    Secrets secrets = new Secrets();
    try {
      RunState run =
          JournalPages.fold(
              store,
              entityId,
              RunState.NONE,
              (before, stored) -> {
                JournalEntry<Event> entry = encryption.read(entityId, stored).ofRun();
                for (Event event : entry.events()) {
                  secrets.learn(fields, event);
                }
                return before.apply(entry.events());
              });
      secrets.learn(fields, run);
      return latest.test(run) ? secrets : null;
    } catch (RuntimeException e) {
      // The operation has happened, and its reply is due.
      LOG.warn("The secrets of {} cannot be read, so a reply quotes nothing of it", entityId, e);
      return null;
    }
  }
}
