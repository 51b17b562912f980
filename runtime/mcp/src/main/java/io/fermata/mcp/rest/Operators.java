package io.fermata.mcp.rest;

import io.fermata.mcp.access.AuditLog;
import io.fermata.mcp.http.HttpError;
import io.fermata.mcp.http.RequestError;
import io.fermata.session.admin.RunJson;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The principals that may see and change what belongs to others: the only place that decides it.
 *
 * @param audit has every refusal, and every change that one of them makes
 */
public record Operators(Set<String> principals, AuditLog audit) {

  /** What operators alone do. */
  enum Operation {
    LIST("list the runs of others"),
    READ("read the entries of runs"),
    CANCEL("cancel runs here"),
    RESOLVE("resolve runs"),
    ERASE("erase runs"),
    ERASE_PRINCIPAL("erase principals"),
    FORK("fork runs");

    final String what;

    Operation(String what) {
      this.what = what;
    }
  }

  public Operators {
    principals = Set.copyOf(principals);
  }

  boolean have(ApiRequest request) {
    return principals.contains(request.principal());
  }

  /**
   * Refuses everybody else.
   *
   * @param about what the request concerns, for the audit log; null for nothing by itself
   */
  void require(ApiRequest request, Operation operation, @Nullable String about) {
    if (!have(request)) {
      RequestError error = RequestError.MAY_NOT_OPERATE;
      audit.refused(request.principal(), RunJson.name(operation), about, error.wireName());
      throw HttpError.of(
          error,
          "Only operators %s, and %s is none: let the operator of the server permit it with operators"
              .formatted(operation.what, request.principal()));
    }
  }
}
