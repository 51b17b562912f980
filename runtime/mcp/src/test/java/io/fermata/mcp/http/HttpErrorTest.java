package io.fermata.mcp.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.mcp.rpc.Response;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.key.HostError;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HttpErrorTest {

  @ParameterizedTest
  @CsvSource({
    "BUSY, 429, true",
    "OVERLOADED, 503, true",
    "STORE_UNAVAILABLE, 503, true",
    "MOVED, 503, true",
    "ROLLING_OUT, 503, true",
    "ERASED, 410, false",
    "UNKNOWN_THREAD, 404, false",
    "TOO_MANY_RUNS, 409, false",
    "TOOL_MISSING, 409, false",
    "THREAD_TOO_LARGE, 413, false",
    "DAMAGED, 500, false",
    "STEP_ERROR, 500, false",
    "INVALID_MESSAGE, 400, false"
  })
  void aStatusSaysWhetherARequestIsWorthRepeating(HostError error, int status, boolean soon) {
    Response response = HttpError.answer(new ThreadException(error, "why"));

    assertThat(response.status).isEqualTo(status);
    assertThat(
            response.headers.keySet().stream()
                .anyMatch(name -> name.toString().equalsIgnoreCase("Retry-After")))
        .isEqualTo(soon);
  }
}
