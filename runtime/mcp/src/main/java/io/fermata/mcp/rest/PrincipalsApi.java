package io.fermata.mcp.rest;

import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.access.ToolScopes;
import io.fermata.mcp.http.HttpError;
import io.fermata.mcp.rest.Operators.Operation;
import io.fermata.mcp.rpc.Response;
import io.fermata.session.admin.RunJson;
import io.fermata.session.admin.Runs;
import java.util.concurrent.CompletionStage;

/** The HTTP API of principals, which operators erase. */
public final class PrincipalsApi extends JsonApi {
  private final Runs runs;
  private final ToolScopes scopes;
  private final Operators operators;

  public PrincipalsApi(Runs runs, CallQuotas quotas, ToolScopes scopes, Operators operators) {
    super("/principals", quotas);
    this.runs = runs;
    this.scopes = scopes;
    this.operators = operators;
    on("DELETE", "/{principal}", this::erase);
  }

  /** No principal has an empty name, whatever the method. */
  @Override
  CompletionStage<Response> route(ApiRequest request) {
    if (request.place().contains("")) {
      throw HttpError.notFound();
    }
    return super.route(request);
  }

  private CompletionStage<Response> erase(ApiRequest request) {
    String principal = request.place().get(0);
    Operation erase = Operation.ERASE_PRINCIPAL;
    operators.require(request, erase, principal);
    // A principal has runs and threads of any flow and agent.
    scopes.require(RunJson.name(erase), scopes.all(), request.caller());
    return request.audited(
        operators.audit(),
        RunJson.name(erase),
        principal,
        () -> runs.erasePrincipal(principal).thenApply(JsonApi::erased));
  }
}
