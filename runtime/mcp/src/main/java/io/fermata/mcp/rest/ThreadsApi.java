package io.fermata.mcp.rest;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agents;
import io.fermata.agent.message.Attachment;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.flow.json.Json;
import io.fermata.mcp.access.AuditLog;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.access.ToolScopes;
import io.fermata.mcp.catalog.StreamQuota;
import io.fermata.mcp.http.HttpError;
import io.fermata.mcp.http.HttpLimits;
import io.fermata.mcp.http.RequestError;
import io.fermata.mcp.protocol.RequestGate;
import io.fermata.mcp.rpc.Response;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.admin.RunJson;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.ThreadJson;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.UnreachableAgentException;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The HTTP API of threads: validates requests, asks the host, and writes its replies. */
public final class ThreadsApi extends JsonApi {
  private static final String PATH = "/threads";

  private static final Duration LONGEST_WAIT = Duration.ofSeconds(60);
  private static final int PAGE = 100;
  private static final int MAX_ENV_MEMBERS = 64;
  private static final int MAX_ENV = 4_096;
  private static final String INSTRUCT = "instruct";
  private static final String ANY_TYPE = "application/octet-stream";

  /** The media types that may be sent in a header. */
  private static final Pattern MEDIA_TYPE =
      Pattern.compile("[\\w.+-]{1,80}/[\\w.+-]{1,80}(; ?charset=[\\w-]{1,40})?");

  private final Threads threads;
  private final ToolScopes scopes;
  private final Set<String> instructors;
  private final AuditLog audit;
  private final RequestGate gate;
  private final int maxWait;

  /**
   * @param instructors the principals that may post system messages and set what instructions
   *     contain
   */
  public ThreadsApi(
      Threads threads,
      StreamQuota streams,
      HttpLimits limits,
      CallQuotas quotas,
      ToolScopes scopes,
      Set<String> instructors,
      AuditLog audit,
      RequestGate gate) {
    super(PATH, quotas);
    this.threads = threads;
    this.scopes = scopes;
    this.instructors = instructors;
    this.audit = audit;
    this.gate = gate;
    // Idle connections are closed, even if a client waits for a response.
    this.maxWait = (int) limits.silence(LONGEST_WAIT).toSeconds();
    on("GET", "?agent&tag&status&q&sort&limit&cursor", this::list);
    on("POST", "", this::create);
    onThread("GET", "", this::get);
    onThread("PATCH", "", this::change);
    onThread("DELETE", "", this::delete);
    onThread("GET", "/messages?before&limit&depth&silent", this::messages);
    onThread("POST", "/messages?wait", this::post);
    Duration heartbeat = limits.heartbeat();
    onThread(
        "GET",
        "/events?after",
        (request, id) -> ThreadEventStream.open(threads, streams, scopes, heartbeat, request, id));
    onThread("GET", "/files/{path...}", this::file);
    onThread("POST", "/stop", this::stop);
    onThread("POST", "/continue", this::proceed);
    onThread("POST", "/answers?wait", this::answers);
    onThread("POST", "/forks", this::fork);
  }

  private void onThread(
      String method,
      String part,
      BiFunction<ApiRequest, String, CompletionStage<Response>> handler) {
    on(method, "/{id}" + part, request -> handler.apply(request, request.place().get(0)));
  }

  /** Every request about a thread needs the scopes of its agent. */
  @Override
  CompletionStage<Response> route(ApiRequest request) {
    AuthenticatedCaller caller = request.caller();
    if (request.place().isEmpty() || !scopes.restrict(caller)) {
      return super.route(request);
    }
    Context home = Objects.requireNonNull(Vertx.currentContext());
    return threads
        .get(caller.principal(), request.place().get(0))
        .thenComposeAsync(
            thread -> {
              scopes.require(thread.origin(), caller);
              scopes.require(thread.agent(), caller);
              return super.route(request.permitted(thread));
            },
            task -> home.runOnContext(there -> task.run()));
  }

  // --- threads ---------------------------------------------------------------------------------

  private CompletionStage<Response> create(ApiRequest request) {
    Bodies.Creation body = request.body(Bodies.Creation.class);
    Map<String, String> wrong = new LinkedHashMap<>();
    String key = request.key();
    String agent = body.agent();
    Map<String, String> env = env(body.env(), false, wrong);
    List<Message> messages = new ArrayList<>();
    for (Bodies.Opening each : given(body.messages())) {
      messages.add(each.message("messages[" + messages.size() + "].", true, wrong));
    }
    Bodies.check(wrong);
    requireOffered(agent, request.caller());
    scopes.require(agent, request.caller());
    messages.forEach(message -> requireNoInstruction(request, agent, message));
    requireNoInstruction(request, agent, agent, env.keySet());
    boolean instructs = instructs(agent, env.keySet(), messages);
    Threads.NewThread thread =
        new Threads.NewThread(
            request.principal(), agent, key, Set.copyOf(given(body.tags())), env, messages);
    return audited(request, instructs, agent, () -> threads.create(thread))
        .handle(
            (view, thrown) -> {
              if (view == null) {
                throw unknownAgent(Objects.requireNonNull(thrown));
              }
              return created(permitted(view, request.caller()));
            });
  }

  private static Response created(Threads.View view) {
    return json(201, ThreadJson.view(view)).with("location", PATH + "/" + encoded(view.threadId()));
  }

  private CompletionStage<Response> fork(ApiRequest request, String id) {
    Bodies.ThreadForking body = request.body(Bodies.ThreadForking.class);
    Map<String, String> wrong = new LinkedHashMap<>();
    request.requireNoKey("read the thread");
    if (body.entry() != null && body.before() != null) {
      wrong.put("before", "cannot be combined with entry");
    }
    String agent = body.agent();
    Map<String, String> env = env(body.env(), true, wrong);
    boolean posts = body.content() != null;
    Message message = body.message("", posts, wrong);
    Bodies.check(wrong);
    if (agent != null) {
      requireOffered(agent, request.caller());
      scopes.require(agent, request.caller());
    }
    requireNoInstruction(request, id, message);
    Threads.NewFork how =
        new Threads.NewFork(
                body.mode().mode(),
                body.entry(),
                body.before(),
                agent,
                env,
                posts ? message : null,
                null)
            .reaching(reached -> scopes.allow(reached, request.caller()));
    boolean instructs = !env.isEmpty() || message.role() == Role.SYSTEM;
    return requireNoInstruction(request, id, how)
        .thenCompose(may -> audited(request, instructs, id, () -> forked(request, id, how)))
        .handle(
            (view, thrown) -> {
              if (view == null) {
                throw unknownAgent(Objects.requireNonNull(thrown));
              }
              return created(permitted(view, request.caller()));
            });
  }

  private CompletionStage<Threads.View> forked(ApiRequest request, String id, Threads.NewFork how) {
    return threads
        .fork(request.principal(), id, how)
        .exceptionally(
            thrown -> {
              Throwable cause = RootCauses.of(thrown);
              if (cause instanceof UnreachableAgentException lacking) {
                scopes.require(lacking.agent(), request.caller());
              }
              throw new CompletionException(cause);
            });
  }

  /** What is no instruction of the agent that acts in the source, its owner may have set. */
  private CompletionStage<?> requireNoInstruction(
      ApiRequest request, String id, Threads.NewFork how) {
    String agent = how.agent();
    if (instructors.contains(request.principal())) {
      return CompletableFuture.completedFuture(id);
    } else if (!how.env().isEmpty()) {
      throw mayNotInstruct(
          request, id, "A variable of a fork may be part of the instructions of its agent");
    }
    return agent == null
        ? CompletableFuture.completedFuture(id)
        : threads
            .get(request.principal(), id)
            .thenAccept(
                source -> {
                  Set<String> known = threads.instructionEnv(source.agent());
                  threads.instructionEnv(agent).stream()
                      .filter(property -> !known.contains(property))
                      .findFirst()
                      .ifPresent(
                          property -> {
                            throw mayNotInstruct(
                                request,
                                id,
                                "The variable %s of the thread becomes part of the instructions of the agent %s"
                                    .formatted(property, agent));
                          });
                });
  }

  /** An agent that works for others only is unknown to clients; suggests what they may use. */
  private void requireOffered(String agent, AuthenticatedCaller caller) {
    Set<String> offered = threads.agents();
    if (!offered.contains(agent)) {
      List<String> usable = offered.stream().filter(each -> scopes.allow(each, caller)).toList();
      String named = RpcException.abbreviate(agent);
      throw HttpError.fields(Map.of("agent", Agents.unknown(named, usable)));
    }
  }

  /** Here an unknown agent is an invalid field of the body. */
  private static RuntimeException unknownAgent(Throwable thrown) {
    Throwable cause = RootCauses.of(thrown);
    if (cause instanceof ThreadException e && e.is(HostError.UNKNOWN_AGENT)) {
      return HttpError.fields(Map.of("agent", String.valueOf(e.getMessage())));
    }
    return new CompletionException(cause);
  }

  private static Map<String, String> env(
      @Nullable Map<String, @Nullable String> given, boolean removing, Map<String, String> wrong) {
    Map<String, String> env = new LinkedHashMap<>();
    if (given == null) {
      return env;
    }
    if (given.size() > MAX_ENV_MEMBERS) {
      wrong.put("env", "has at most " + MAX_ENV_MEMBERS + " members");
      return env;
    }
    given.forEach(
        (property, value) -> {
          String field = "env." + RpcException.abbreviate(property);
          if (value == null && !removing) {
            wrong.put(field, "must be a string");
          } else if (property.isBlank()
              || property.length() > Bodies.MAX_NAME
              || (value != null && value.length() > MAX_ENV)) {
            wrong.put(
                field,
                "a name has 1 to %s characters, a value at most %s"
                    .formatted(Bodies.MAX_NAME, MAX_ENV));
          }
          env.put(property, value == null ? "" : value);
        });
    return env;
  }

  private static <T> List<T> given(@Nullable List<T> list) {
    return list == null ? List.of() : list;
  }

  private CompletionStage<Response> list(ApiRequest request) {
    String sort = request.query("sort");
    if (sort != null && !sort.equals("activity") && !sort.equals("created")) {
      throw ApiRequest.wrong("sort", "must be activity or created");
    }
    String agent = request.query("agent");
    if (agent != null) {
      scopes.require(agent, request.caller());
    }
    Threads.Query query =
        new Threads.Query(
            request.principal(),
            agent,
            Set.copyOf(request.all("tag")),
            status(request),
            request.query("q"),
            !"created".equals(sort),
            request.number("limit", 50, 1, PAGE),
            request.query("cursor"));
    return threads
        .list(query)
        .thenApply(
            listing -> {
              ObjectNode body = Json.object();
              ArrayNode all = body.putArray("threads");
              listing.threads().stream()
                  .filter(thread -> scopes.allow(thread.agent(), request.caller()))
                  .filter(thread -> scopes.allow(thread.origin(), request.caller()))
                  .forEach(thread -> all.add(ThreadJson.listed(thread)));
              return json(body.put("cursor", listing.cursor()));
            });
  }

  private static Threads.@Nullable Status status(ApiRequest request) {
    String name = request.query("status");
    if (name == null) {
      return null;
    }
    return Arrays.stream(Threads.Status.values())
        .filter(status -> RunJson.name(status).equals(name))
        .findFirst()
        .orElseThrow(() -> ApiRequest.wrong("status", "must be working, asking or resting"));
  }

  private CompletionStage<Response> get(ApiRequest request, String id) {
    Threads.View seen = request.thread();
    CompletionStage<Threads.View> view =
        seen == null
            ? threads.get(request.principal(), id)
            : CompletableFuture.completedFuture(seen);
    return view.thenApply(now -> json(ThreadJson.view(now)));
  }

  /** The thread after a change, of which nothing is shown if it was handed over meanwhile. */
  private CompletionStage<Response> changed(
      ApiRequest request, CompletionStage<Threads.View> change) {
    return change.thenApply(
        view ->
            scopes.allow(view.agent(), request.caller())
                ? json(ThreadJson.view(view))
                : json(202, Json.object().put("threadId", view.threadId())));
  }

  private CompletionStage<Response> change(ApiRequest request, String id) {
    request.requireNoKey("read the thread");
    Bodies.ThreadChange body = request.body(Bodies.ThreadChange.class);
    Map<String, String> wrong = new LinkedHashMap<>();
    Map<String, String> env = env(body.env(), true, wrong);
    Bodies.check(wrong);
    Set<String> all = body.tags() == null ? null : Set.copyOf(body.tags());
    String principal = request.principal();
    if (env.isEmpty() || instructors.contains(principal)) {
      return changed(
          request,
          audited(request, !env.isEmpty(), id, () -> threads.change(principal, id, all, env)));
    }
    return changed(
        request,
        threads
            .get(principal, id)
            .thenCompose(
                thread -> {
                  requireNoInstruction(request, id, thread.agent(), env.keySet());
                  return threads.change(principal, id, all, env);
                }));
  }

  /** Whether a thread begins with instructions of its creator. */
  private boolean instructs(String agent, Set<String> env, List<Message> messages) {
    return messages.stream().anyMatch(message -> message.role() == Role.SYSTEM)
        || (!env.isEmpty() && !Collections.disjoint(threads.instructionEnv(agent), env));
  }

  private <T> CompletionStage<T> audited(
      ApiRequest request, boolean instructs, String thread, Supplier<CompletionStage<T>> change) {
    return instructs ? request.audited(audit, INSTRUCT, thread, change) : change.get();
  }

  private void requireNoInstruction(ApiRequest request, String thread, Message message) {
    if (message.role() == Role.SYSTEM && !instructors.contains(request.principal())) {
      throw mayNotInstruct(request, thread, "A message of the role system instructs the agent");
    }
  }

  private void requireNoInstruction(
      ApiRequest request, String thread, String agent, Set<String> env) {
    if (env.isEmpty() || instructors.contains(request.principal())) {
      return;
    }
    Set<String> instructing = threads.instructionEnv(agent);
    env.stream()
        .filter(instructing::contains)
        .findFirst()
        .ifPresent(
            property -> {
              throw mayNotInstruct(
                  request,
                  thread,
                  "The variable %s is part of the instructions of the agent %s"
                      .formatted(property, agent));
            });
  }

  private HttpError mayNotInstruct(ApiRequest request, String thread, String what) {
    RequestError error = RequestError.MAY_NOT_INSTRUCT;
    audit.refused(request.principal(), INSTRUCT, thread, error.wireName());
    return HttpError.of(
        error,
        "%s, which %s may not: send it as a user, or let the operator of the server permit it with instructors"
            .formatted(what, request.principal()));
  }

  private CompletionStage<Response> delete(ApiRequest request, String id) {
    return threads.delete(request.principal(), id).thenApply(gone -> Response.empty(204));
  }

  // --- messages --------------------------------------------------------------------------------

  private CompletionStage<Response> messages(ApiRequest request, String id) {
    Threads.View seen = request.thread();
    boolean silent = request.flag("silent");
    Threads.MessageQuery spoken =
        Threads.MessageQuery.latest(request.number("limit", 50, 1, PAGE))
            .before(request.query("before"))
            .depth(request.number("depth", 0, 0, 64));
    Threads.MessageQuery query = silent ? spoken.withSilent() : spoken;
    return threads
        .messages(request.principal(), id, seen == null ? query : query.asOf(seen))
        .thenApply(
            page -> {
              ObjectNode body = Json.object();
              body.set("messages", ThreadJson.messages(inOrder(page.messages())));
              return json(body.put("before", page.before()));
            });
  }

  private static List<Message> inOrder(List<Message> latestFirst) {
    List<Message> inOrder = new ArrayList<>(latestFirst);
    Collections.reverse(inOrder);
    return inOrder;
  }

  private CompletionStage<Response> post(ApiRequest request, String id) {
    Bodies.Posting body = request.body(Bodies.Posting.class);
    Map<String, String> wrong = new LinkedHashMap<>();
    String key = request.key();
    int wait = request.number("wait", 0, 0, maxWait);
    List<Attachment> attachments = attachments(given(body.attachments()), wrong);
    Message message = body.message("", attachments.isEmpty(), wrong);
    Bodies.check(wrong);
    requireNoInstruction(request, id, message);
    String principal = request.principal();
    Threads.NewMessage posting = new Threads.NewMessage(message, attachments, key);
    return audited(
            request, message.role() == Role.SYSTEM, id, () -> threads.post(principal, id, posting))
        .thenCompose(
            posted ->
                wait == 0
                    ? CompletableFuture.completedFuture(accepted(posted))
                    // The message is kept, and its outcome is read from the next process.
                    : gate.orIfHandedBack(
                        outcome(request.caller(), posted, wait)
                            .exceptionally(failed -> journaled(accepted(posted), failed)),
                        () -> accepted(posted)));
  }

  /** What is known of something journaled, whatever keeps its outcome from the caller. */
  private static <T> T journaled(T known, Throwable failed) {
    HttpError.logIfUnknown(failed);
    return known;
  }

  private static Response accepted(Threads.Posted posted) {
    return json(202, receipt(posted));
  }

  private static ObjectNode receipt(Threads.Posted posted) {
    return Json.object()
        .put("messageId", posted.messageId())
        .put("repeated", posted.repeated())
        .put("offset", posted.offset());
  }

  /** The thread after it has handled a message, and the messages since then. */
  private CompletionStage<Response> outcome(
      AuthenticatedCaller caller, Threads.Posted posted, int wait) {
    return settled(caller, posted.threadId(), wait)
        .thenCompose(
            view -> since(caller, posted, view).thenApply(page -> outcome(posted, view, page)));
  }

  private CompletionStage<Threads.Messages> since(
      AuthenticatedCaller caller, Threads.Posted posted, Threads.View view) {
    String message = posted.messageId();
    return view.inbox().contains(message)
        // Nothing was said since a message that waits for its turn.
        ? CompletableFuture.completedFuture(new Threads.Messages(List.of(), null))
        : threads.messages(
            caller.principal(),
            posted.threadId(),
            Threads.MessageQuery.latest(PAGE).since(each -> each.id().equals(message)).asOf(view));
  }

  /** The thread may have been handed over meanwhile. */
  private CompletionStage<Threads.View> settled(AuthenticatedCaller caller, String id, int wait) {
    return threads
        .settled(caller.principal(), id, Duration.ofSeconds(wait))
        .thenApply(view -> permitted(view, caller));
  }

  private Threads.View permitted(Threads.View view, AuthenticatedCaller caller) {
    scopes.require(view.agent(), caller);
    return view;
  }

  private static Response outcome(Threads.Posted posted, Threads.View view, Threads.Messages page) {
    ObjectNode body = receipt(posted);
    body.set("thread", ThreadJson.view(view));
    body.set("messages", ThreadJson.messages(inOrder(page.messages())));
    return json(body.put("before", page.before()));
  }

  private static List<Attachment> attachments(
      List<Bodies.Upload> uploads, Map<String, String> wrong) {
    List<Attachment> attachments = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (Bodies.Upload each : uploads) {
      String at = "attachments[" + attachments.size() + "].";
      if (!isFileName(each.name())) {
        wrong.put(
            at + "name", "must be a plain file name of at most " + Bodies.MAX_NAME + " characters");
      } else if (!names.add(each.name())) {
        wrong.put(at + "name", "must differ from those of the other attachments");
      }
      if (!MEDIA_TYPE.matcher(each.mimeType()).matches()) {
        wrong.put(at + "mimeType", "must be a media type such as text/plain");
      }
      byte[] data = {};
      try {
        data = Base64.getDecoder().decode(each.data());
      } catch (IllegalArgumentException e) {
        wrong.put(at + "data", "must be bytes in base64");
      }
      attachments.add(new Attachment(each.name(), each.mimeType(), data));
    }
    return attachments;
  }

  private static boolean isFileName(String name) {
    return !name.isEmpty()
        && name.length() <= Bodies.MAX_NAME
        && !name.equals(".")
        && !name.equals("..")
        && !name.contains("/")
        && !name.contains("\\")
        && name.equals(name.strip())
        && name.chars().noneMatch(Character::isISOControl);
  }

  // --- what a person decides -------------------------------------------------------------------

  private CompletionStage<Response> stop(ApiRequest request, String id) {
    request.optionalBody(Bodies.Empty.class);
    return changed(request, threads.stop(request.principal(), id, request.key()));
  }

  private CompletionStage<Response> proceed(ApiRequest request, String id) {
    request.requireNoKey("read the thread");
    Bodies.ActingSide side = request.optionalBody(Bodies.Continuation.class).side();
    return changed(
        request,
        threads.proceed(request.principal(), id, side == null ? null : Side.valueOf(side.name())));
  }

  private CompletionStage<Response> answers(ApiRequest request, String id) {
    Bodies.PersonsAnswer body = request.body(Bodies.PersonsAnswer.class);
    String key = request.key();
    int wait = request.number("wait", 0, 0, maxWait);
    Threads.Answer answer =
        new Threads.Answer(
            body.call(),
            body.question(),
            key == null ? UUID.randomUUID().toString() : key,
            body.approved(),
            body.answers(),
            body.reason());
    String principal = request.principal();
    CompletionStage<Threads.View> answered = threads.answer(principal, id, answer);
    return changed(
        request,
        wait == 0
            ? answered
            : answered.thenCompose(
                view ->
                    gate.orIfHandedBack(
                        settled(request.caller(), id, wait)
                            .exceptionally(failed -> journaled(view, failed)),
                        () -> view)));
  }

  // --- files -----------------------------------------------------------------------------------

  private CompletionStage<Response> file(ApiRequest request, String id) {
    List<String> place = request.place();
    String path = "/" + String.join("/", place.subList(2, place.size()));
    return stillPermitted(request, id, threads.file(request.principal(), id, path))
        .thenApply(
            file -> {
              String type =
                  MEDIA_TYPE.matcher(file.mimeType()).matches() ? file.mimeType() : ANY_TYPE;
              String name = path.substring(path.lastIndexOf('/') + 1);
              // A file must never run in a browser on this origin, no matter who wrote it.
              return Response.of(200, type, file.data())
                  .with("content-disposition", "attachment; filename*=UTF-8''" + encoded(name))
                  .with("content-security-policy", "default-src 'none'; sandbox")
                  .with("x-content-type-options", "nosniff")
                  .with("cache-control", "private, no-cache");
            });
  }

  /** What was read of a thread, unless it was handed over before. */
  private <T> CompletionStage<T> stillPermitted(
      ApiRequest request, String id, CompletionStage<T> read) {
    AuthenticatedCaller caller = request.caller();
    if (!scopes.restrict(caller)) {
      return read;
    }
    return read.thenCompose(
        known ->
            threads
                .get(caller.principal(), id)
                .thenApply(
                    view -> {
                      scopes.require(view.agent(), caller);
                      return known;
                    }));
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20").replace("*", "%2A");
  }
}
