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
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Calls flows whose questions the client shows as forms. Submitted forms drive the run on within
 * the same call, until it ends or waits for something that no form can ask.
 */
public final class FormToolCalls {
  /** A program that fills in forms might fill in the same for ever. */
  private static final int MAX_FORMS = 100;

  private static final String ENDING =
      "The server is shutting down, and the form for this was not filled in.";

  private static final String DECLINED = "The user declined the form for this.";
  private static final String PUT_OFF = "The user put off the form for this.";
  private static final String UNANSWERED = "The client could not have the form for this filled in.";

  private final FlowToolCalls flows;
  private final ResultWriter results;
  private final RequestStates states;
  private final RequestGate gate;

  public FormToolCalls(
      FlowToolCalls flows, ResultWriter results, RequestStates states, RequestGate gate) {
    this.flows = flows;
    this.results = results;
    this.states = states;
    this.gate = gate;
  }

  /** What a form was filled in with; null if it was not, and why. */
  private record Filled(@Nullable JsonNode in, String why) {}

  /** A client's call, in which there may be several of the host. */
  private record Calling(String flow, McpRequest request, Consumer<ToolProgress> listener) {
    ToolCall first() {
      return call(request.arguments(), request.meta());
    }

    ToolCall call(ObjectNode arguments, ObjectNode meta) {
      return new ToolCall(flow, request.principal(), arguments, meta, request.session());
    }

    String bound() {
      return RequestStates.call("tools/call", flow, request.arguments());
    }

    /** Whether forms are wanted: a client that only looks where the run is gets to see that. */
    boolean wantsForms() {
      return request.capabilities().path("elicitation").isObject()
          && !"status".equals(request.arguments().path("action").textValue());
    }
  }

  /** Has a flow called, and its questions put to the user. */
  CompletionStage<RpcResult> call(String flow, McpRequest request) {
    Calling calling = new Calling(flow, request, request.progressListener());
    String state = request.revision().modern() ? request.requestState() : null;
    if (state != null) {
      return resumed(calling, state);
    }
    ToolCall first = calling.first();
    return flows
        .call(first, request, calling.listener())
        .thenCompose(reply -> afterReply(calling, reply, FormPause.of(first, reply), 0));
  }

  /**
   * @param forms how many were filled in during this call
   */
  private CompletionStage<RpcResult> afterReply(
      Calling calling, ToolReply reply, FormPause pause, int forms) {
    McpRequest request = calling.request();
    ElicitationForms shown =
        calling.wantsForms()
            ? FormPause.forms(reply.structured(), forms > 0)
            : ElicitationForms.NONE;
    if (!shown.supportedBy(request.capabilities())
        || forms == MAX_FORMS
        || (!request.revision().modern() && request.progress() == null)) {
      return now(toResult(calling, reply));
    }
    return flows
        .openQuestions(pause.run(calling.first()))
        .thenCompose(
            open -> {
              FormPause asking = pause.asking(reply, open);
              return asking == null
                  ? now(toResult(calling, reply))
                  : showForm(calling, reply, asking, shown.combined(), forms);
            });
  }

  private CompletionStage<RpcResult> showForm(
      Calling calling, ToolReply reply, FormPause pause, McpAsk form, int forms) {
    McpRequest request = calling.request();
    Client.Questions questions = request.client().questions();
    if (questions == null) {
      String state = states.seal(pause.json(), request.principal(), calling.bound());
      return now(results.inputRequired(Map.of(pause.key(), form), state, pause.meta(reply)));
    }
    CompletionStage<Filled> asking = askClient(calling, pause, form, questions);
    return gate.orIfHandedBack(asking, () -> new Filled(null, ENDING))
        .thenCompose(
            filled ->
                filled.in() == null
                    ? now(toResult(calling, withNote(reply, filled.why())))
                    : afterForm(calling, pause, filled.in(), forms, null));
  }

  private RpcResult toResult(Calling calling, ToolReply reply) {
    return flows.toResult(calling.first(), reply, calling.request());
  }

  private static CompletionStage<RpcResult> now(RpcResult result) {
    return CompletableFuture.completedFuture(result);
  }

  /** Asks the client while its call stays open. */
  private static CompletionStage<Filled> askClient(
      Calling calling, FormPause pause, McpAsk form, Client.Questions questions) {
    McpRequest request = calling.request();
    OutboundQueue way = Objects.requireNonNull(request.progress());
    return CompletableFuture.completedFuture(Map.of(pause.key(), form))
        // What is refused at once is a form that is not filled in, as one refused later.
        .thenCompose(asks -> questions.ask(asks, request.principal(), way))
        .handle(
            (replies, failure) ->
                failure == null
                    ? new Filled(replies.path(pause.key()), "")
                    : new Filled(null, UNANSWERED));
  }

  /** Goes on with what a modern client brings along. */
  private CompletionStage<RpcResult> resumed(Calling calling, String state) {
    McpRequest request = calling.request();
    RequestStates.Opened opened = states.open(state, request.principal(), calling.bound());
    FormPause pause = FormPause.of(opened.content());
    JsonNode filled = request.inputResponses().path(pause.key());
    opened.use(pause.instead());
    return afterForm(calling, pause, filled, 0, opened);
  }

  /**
   * @param opened the state that brought it; null in the older era
   */
  private CompletionStage<RpcResult> afterForm(
      Calling calling,
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
              // Nothing was done with the answers, so they are good for another try.
              if (opened != null && TaskMethods.TRANSIENT.contains(code(reply))) {
                opened.giveBack();
              }
              return refusal == null
                  ? afterReply(calling, reply, pause.after(reply), forms + 1)
                  : now(toResult(calling, withNote(reply, refusal)));
            });
  }

  /** Brings answers to the run, which may have moved on: in a branch, or by the clock. */
  private CompletionStage<ToolReply> submit(Calling calling, FormPause pause, ObjectNode answers) {
    McpRequest request = calling.request();
    return flows.call(
        calling.call(pause.arguments(answers), pause.meta(request.meta(), answers)),
        request,
        calling.listener());
  }

  private static String code(ToolReply reply) {
    return reply.structured().path("code").asText();
  }

  /** What is asked in the ordinary way, with a word to the model on why. */
  private static ToolReply withNote(ToolReply reply, String why) {
    ObjectNode structured = reply.structured();
    if (reply.error() || !structured.path("status").asText().equals("interrupt")) {
      return reply;
    }
    String hint = why + " Ask in the conversation, or leave it if the user does not want to.";
    String context = structured.path("context").asText();
    ObjectNode told = structured.deepCopy();
    told.put("context", context.isEmpty() ? hint : hint + "\n" + context);
    return new ToolReply(told, reply.meta());
  }
}
