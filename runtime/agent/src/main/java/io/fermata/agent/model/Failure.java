package io.fermata.agent.model;

import com.fasterxml.jackson.databind.JsonNode;
import dev.langchain4j.exception.AuthenticationException;
import dev.langchain4j.exception.ContentFilteredException;
import dev.langchain4j.exception.HttpException;
import dev.langchain4j.exception.InternalServerException;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.exception.ModelNotFoundException;
import dev.langchain4j.exception.NonRetriableException;
import dev.langchain4j.exception.RateLimitException;
import dev.langchain4j.exception.TimeoutException;
import dev.langchain4j.exception.UnresolvedModelServerException;
import dev.langchain4j.exception.UnsupportedFeatureException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Why an attempt failed.
 *
 * @param again whether the same model may be retried
 * @param retryAfter how long the provider requests to wait
 */
record Failure(ModelError code, String message, boolean again, Duration retryAfter) {
  private static final int LONGEST_MESSAGE = 300;

  /** Patterns of keys in messages of providers and clients. */
  private static final Pattern SECRET =
      Pattern.compile(
          "(?i)(?<=bearer\\s)\\s*[^\\s\"',]+"
              + "|(?<=key[\"']?\\s?[=:]\\s?[\"']?)[^\\s\"',&}]+"
              + "|\\b(?:sk|pk|rk|gsk|xai|key)-[\\w*.-]{4,}"
              + "|\\bAIza[\\w-]{10,}");

  static Failure of(Throwable thrown) {
    List<Throwable> causes = causes(thrown);
    for (Throwable cause : causes) {
      ModelError code = code(cause);
      if (code != null) {
        return new Failure(code, words(code, cause), again(code, causes), retryAfter(causes));
      }
    }
    return new Failure(
        ModelError.FAILED,
        words(ModelError.FAILED, thrown),
        again(ModelError.FAILED, causes),
        Duration.ZERO);
  }

  /** The model went silent, or took too long. */
  static Failure late(ModelError code, String message) {
    return new Failure(code, message, false, Duration.ZERO);
  }

  /** The provider withheld the reply. */
  static Failure refused(String message) {
    return new Failure(ModelError.REFUSED, message, false, Duration.ZERO);
  }

  /** The reply is invalid. */
  static Failure broken(ModelError code, String message) {
    return new Failure(code, message, true, Duration.ZERO);
  }

  static List<Throwable> causes(Throwable thrown) {
    List<Throwable> causes = new ArrayList<>();
    for (Throwable next = thrown; next != null && !causes.contains(next); next = next.getCause()) {
      causes.add(next);
    }
    return causes;
  }

  private static @Nullable ModelError code(Throwable thrown) {
    if (thrown instanceof TimeoutException
        || thrown instanceof HttpTimeoutException
        || thrown instanceof SocketTimeoutException
        || thrown instanceof java.util.concurrent.TimeoutException) {
      return ModelError.TIMEOUT;
    } else if (thrown instanceof RateLimitException) {
      return ModelError.RATE_LIMITED;
    } else if (thrown instanceof AuthenticationException) {
      return ModelError.UNAUTHORIZED;
    } else if (thrown instanceof ContentFilteredException) {
      return ModelError.REFUSED;
    } else if (thrown instanceof InvalidRequestException
        || thrown instanceof ModelNotFoundException
        || thrown instanceof UnsupportedFeatureException) {
      return ModelError.INVALID_REQUEST;
    } else if (thrown instanceof InternalServerException
        || thrown instanceof UnresolvedModelServerException
        || thrown instanceof IOException) {
      return ModelError.UNAVAILABLE;
    } else if (thrown instanceof HttpException http) {
      return code(http.statusCode());
    }
    return null;
  }

  private static ModelError code(int status) {
    return switch (status) {
      case 401, 403 -> ModelError.UNAUTHORIZED;
      case 408 -> ModelError.TIMEOUT;
      case 429 -> ModelError.RATE_LIMITED;
      default ->
          status >= 500
              ? ModelError.UNAVAILABLE
              : status >= 400 ? ModelError.INVALID_REQUEST : ModelError.FAILED;
    };
  }

  private static boolean again(ModelError code, List<Throwable> causes) {
    return switch (code) {
      case RATE_LIMITED, UNAVAILABLE, EMPTY, FAILED ->
          causes.stream().noneMatch(NonRetriableException.class::isInstance);
      case TIMEOUT, STALLED, UNAUTHORIZED, REFUSED, INVALID_REQUEST -> false;
    };
  }

  private static Duration retryAfter(List<Throwable> causes) {
    return causes.stream()
        .filter(ProviderException.class::isInstance)
        .map(ProviderException.class::cast)
        .flatMap(provider -> provider.retryAfter().stream())
        .findFirst()
        .orElse(Duration.ZERO);
  }

  private static String words(ModelError code, Throwable thrown) {
    if (code == ModelError.UNAUTHORIZED) {
      // Providers like to quote the key here.
      return "The provider rejected the credentials; check the key of this model";
    }
    String said = thrown.getMessage();
    String text = said == null || said.isBlank() ? thrown.getClass().getSimpleName() : said;
    String safe = SECRET.matcher(spoken(text)).replaceAll("…").replaceAll("\\s+", " ").strip();
    return Excerpt.of(safe, LONGEST_MESSAGE);
  }

  /**
   * The message in a body: the {@code error.message} that most providers send, or the body itself.
   */
  private static String spoken(String text) {
    if (!text.startsWith("{")) {
      return text;
    }
    JsonNode error = ReplyPart.of(text).json().path("error");
    String message = error.path("message").asText(error.asText());
    return message.isBlank() ? text : message;
  }
}
