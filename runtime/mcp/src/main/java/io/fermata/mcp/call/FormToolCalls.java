package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.protocol.Client;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.protocol.RequestGate;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.ToolHost;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Calls tools whose questions the client shows as forms. Submitted forms continue the session
 * within the same call, until it ends or waits for something that no form can ask.
 */
public final class FormToolCalls {
  /** Stops a program that fills in forms from filling in the same one forever. */
  private static final int MAX_FORMS = 100;

  private static final String ENDING =
      "The server is shutting down, so the form for this was not filled in.";

  private static final String DECLINED = "The user declined the form for this.";
  private static final String PUT_OFF = "The user put off the form for this.";
  private static final String UNANSWERED = "The client could not get the form for this filled in.";

  private final ToolHost host;
  private final TaskMethods tasks;
  private final ResultWriter results;
  private final RequestStates states;
  private final RequestGate gate;

  public FormToolCalls(
      ToolHost host,
      TaskMethods tasks,
      ResultWriter results,
      RequestStates states,
      RequestGate gate) {
    this.host = host;
    this.tasks = tasks;
    this.results = results;
    this.states = states;
    this.gate = gate;
  }

  /** The submitted form, or null and the reason why there is none. */
  private record Filled(@Nullable JsonNode in, String why) {}

  /**
   * A call of a client, which may take several calls of the host.
   *
   * @param forms whether the tool asks its questions in forms
   */
  private record ClientCall(
      ToolCall first, McpRequest request, boolean forms, Consumer<ToolProgress> listener) {
    ToolCall call(ObjectNode arguments, ObjectNode meta) {
      return first.with(arguments, meta);
    }

    /** What a handler asks is bound otherwise, so that neither opens a state of the other. */
    String bound() {
      return RequestStates.call("tools/call with forms", first.tool(), request.arguments());
    }

    /** Whether to show forms: a client that asks for the status gets the status. */
    boolean wantsForms() {
      return forms
          && request.capabilities().path("elicitation").isObject()
          && !"status".equals(request.arguments().path("action").textValue());
    }
  }

  /** Whether the client of a request can be asked before it gets the result. */
  static boolean reach(McpRequest request) {
    return request.revision().modern() || request.progress() != null;
  }

  /**
   * Calls a tool, and asks its questions in forms.
   *
   * @param pause what the session waits for after the reply
   */
  CompletionStage<RpcResult> call(
      ToolCall first, McpRequest request, Function<ToolReply, FormPause> pause) {
    ClientCall calling = new ClientCall(first, request, true, request.progressListener());
    return host.call(first, calling.listener())
        .thenCompose(reply -> afterReply(calling, reply, pause.apply(reply), 0));
  }

  /**
   * @param forms how many were filled in during this call
   */
  private CompletionStage<RpcResult> afterReply(
      ClientCall calling, ToolReply reply, FormPause pause, int forms) {
    McpRequest request = calling.request();
    McpAsk form = calling.wantsForms() ? pause.form(reply, forms > 0) : null;
    if (form == null
        || !form.supportedBy(request.capabilities(), request.revision())
        || replaces(reply)
        || forms == MAX_FORMS
        || !reach(request)) {
      return now(toResult(calling, reply));
    }
    return asking(calling, reply, pause)
        .thenCompose(
            asking ->
                asking == null
                    ? now(toResult(calling, reply))
                    : showForm(calling, reply, asking, form, forms));
  }

  /** The pause that a form is shown for; null if the session has moved on. */
  private CompletionStage<@Nullable FormPause> asking(
      ClientCall calling, ToolReply reply, FormPause pause) {
    return pause instanceof RunPause run
        ? host.tasks()
            .view(run.run(calling.first()))
            .thenApply(view -> run.asking(reply, view.asked()))
        : CompletableFuture.completedFuture(pause);
  }

  /** Whether the call ended a run that had answers: the model decides about them first. */
  private static boolean replaces(ToolReply reply) {
    return !reply.meta().path(ToolReplyJson.RUN).at("/abandoned/answered").isEmpty();
  }

  private CompletionStage<RpcResult> showForm(
      ClientCall calling, ToolReply reply, FormPause pause, McpAsk form, int forms) {
    McpRequest request = calling.request();
    Client.Questions questions = request.client().questions();
    if (questions == null) {
      String state = states.encrypt(pause.json(), request.principal(), calling.bound());
      return now(results.inputRequired(Map.of(pause.key(), form), state, pause.meta(reply)));
    }
    CompletionStage<Filled> asking = askClient(calling, pause, form, questions);
    return gate.orIfHandedBack(asking, () -> new Filled(null, ENDING))
        .thenCompose(
            filled ->
                filled.in() == null
                    ? now(toResult(calling, pause.unfilled(reply, filled.why())))
                    : afterForm(calling, pause, filled.in(), forms, null));
  }

  private RpcResult toResult(ClientCall calling, ToolReply reply) {
    return tasks.result(calling.first(), reply, calling.request());
  }

  private static CompletionStage<RpcResult> now(RpcResult result) {
    return CompletableFuture.completedFuture(result);
  }

  /** Asks the client while its call stays open. */
  private static CompletionStage<Filled> askClient(
      ClientCall calling, FormPause pause, McpAsk form, Client.Questions questions) {
    McpRequest request = calling.request();
    OutboundQueue queue = Objects.requireNonNull(request.progress());
    return CompletableFuture.completedFuture(Map.of(pause.key(), form))
        // A refusal at once counts as a form that is not filled in, as a later one does.
        .thenCompose(asks -> questions.ask(asks, request.asker(), queue))
        .handle(
            (replies, failure) ->
                failure == null
                    ? new Filled(replies.path(pause.key()), "")
                    : new Filled(null, UNANSWERED));
  }

  /**
   * Continues with the state and the form that a modern client sends.
   *
   * @param forms whether the tool still asks its questions in forms
   */
  CompletionStage<RpcResult> resume(
      String state, ToolCall first, McpRequest request, boolean forms) {
    ClientCall calling = new ClientCall(first, request, forms, request.progressListener());
    RequestStates.Opened opened = states.open(state, request.principal(), calling.bound());
    FormPause pause = FormPause.of(opened.content());
    JsonNode filled = request.inputResponses().path(pause.key());
    opened.use(pause.repair());
    return afterForm(calling, pause, filled, 0, opened);
  }

  /**
   * @param opened the state that came with the form; null before 2026-07-28
   */
  private CompletionStage<RpcResult> afterForm(
      ClientCall calling,
      FormPause pause,
      JsonNode filled,
      int forms,
      RequestStates.@Nullable Opened opened) {
    @Nullable String refusal =
        switch (filled.path("action").asText()) {
          case "decline" -> DECLINED;
          case "cancel" -> PUT_OFF;
          default -> null;
        };
    return submit(calling, pause, pause.answers(filled))
        .thenCompose(
            reply -> {
              // The answers were not used, so the client may send them again.
              if (opened != null && HostError.isTemporary(code(reply))) {
                opened.release();
              }
              return refusal == null
                  ? afterReply(calling, reply, pause.after(reply), forms + 1)
                  : now(toResult(calling, pause.unfilled(reply, refusal)));
            });
  }

  /** Submits answers to the run, which may have moved on: in another branch, or by a timer. */
  private CompletionStage<ToolReply> submit(
      ClientCall calling, FormPause pause, ObjectNode answers) {
    McpRequest request = calling.request();
    return host.call(
            calling.call(pause.arguments(answers), pause.meta(request.meta(), answers)),
            calling.listener())
        .thenApply(FormToolCalls::asOfACall);
  }

  /** What only somebody who asks for the status wants to know is left out. */
  private static ToolReply asOfACall(ToolReply reply) {
    ObjectNode structured = reply.structured().deepCopy();
    return structured.remove("run") == null ? reply : new ToolReply(structured, reply.meta());
  }

  private static String code(ToolReply reply) {
    return reply.structured().path("code").asText();
  }
}
