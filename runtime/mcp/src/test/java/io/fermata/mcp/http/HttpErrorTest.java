package io.fermata.mcp.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.mcp.rpc.Response;
import io.fermata.session.admin.ThreadException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HttpErrorTest {

  @ParameterizedTest
  @CsvSource({
    "busy, 429, true",
    "overloaded, 503, true",
    "store_unavailable, 503, true",
    "moved, 503, true",
    "rolling_out, 503, true",
    "erased, 410, false",
    "unknown_thread, 404, false",
    "too_many_runs, 409, false",
    "invalid_message, 400, false"
  })
  void aStatusSaysWhetherARequestIsWorthRepeating(String code, int status, boolean soon) {
    Response response = HttpError.answer(new ThreadException(code, "why"));

    assertThat(response.status).isEqualTo(status);
    assertThat(
            response.headers.keySet().stream()
                .anyMatch(name -> name.toString().equalsIgnoreCase("Retry-After")))
        .isEqualTo(soon);
  }
}
