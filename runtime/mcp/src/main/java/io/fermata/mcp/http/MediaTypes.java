package io.fermata.mcp.http;

import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpVersion;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The media types that a request has and that its client accepts. */
public final class MediaTypes {
  private static final Pattern UTF_8 = Pattern.compile("charset=\"?utf-?8\"?\\s*(;|$)");

  private MediaTypes() {}

  /** Whether a Content-Type is JSON in UTF-8. */
  public static boolean isJson(@Nullable String type) {
    if (type == null) {
      return false;
    }
    String lower = type.toLowerCase(Locale.ROOT);
    int semicolon = lower.indexOf(';');
    String media = semicolon < 0 ? lower : lower.substring(0, semicolon);
    return media.strip().equals("application/json")
        && (!lower.contains("charset=") || UTF_8.matcher(lower).find());
  }

  /** Whether the body is what its Content-Type says, not compressed. */
  static boolean isUncompressed(HttpServerRequest request) {
    return request.headers().getAll(HttpHeaders.CONTENT_ENCODING).stream()
        .allMatch(encoding -> encoding.strip().equalsIgnoreCase("identity"));
  }

  /** Whether a client accepts what may be sent to every client of its revision. */
  static boolean acceptsAnswers(HttpServerRequest request, boolean modern) {
    String accept = accept(request);
    if (accept.isEmpty() || accept.contains("*/*")) {
      return true;
    }
    boolean json = accept.contains("application/json") || accept.contains("application/*");
    // Modern clients must accept both, older ones only JSON.
    return json && (listsStreams(accept) || !modern);
  }

  /** Whether the response may be a stream; a client that does not say so gets plain JSON. */
  static boolean acceptsStreams(HttpServerRequest request) {
    String accept = accept(request);
    return (listsStreams(accept) || accept.contains("*/*"))
        && request.version() != HttpVersion.HTTP_1_0;
  }

  public static boolean listsStreams(String accept) {
    return accept.contains("text/event-stream") || accept.contains("text/*");
  }

  public static String accept(HttpServerRequest request) {
    return String.join(",", request.headers().getAll(HttpHeaders.ACCEPT)).toLowerCase(Locale.ROOT);
  }
}
