package io.fermata.session.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import io.fermata.session.call.OutcomeJson;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Runs as JSON. Pure. */
public final class RunJson {
  /** The names of all statuses. */
  public static final String STATUSES =
      Arrays.stream(RunInfo.Status.values()).map(RunJson::name).collect(Collectors.joining(", "));

  private RunJson() {}

  public static ObjectNode page(Runs.Page page) {
    return page(page.runs().stream(), page.cursor());
  }

  /**
   * Some runs of a page.
   *
   * @param cursor the cursor of the next page; null if there is none
   */
  public static ObjectNode page(Stream<RunInfo> runs, @Nullable String cursor) {
    ObjectNode json = Json.object();
    ArrayNode all = json.putArray("runs");
    runs.forEach(run -> all.add(run(run)));
    return json.put("cursor", cursor);
  }

  public static ObjectNode run(RunInfo run) {
    ObjectNode json = Json.object();
    json.put("runId", run.runId());
    json.put("flow", run.flow());
    json.put("version", run.version());
    json.put("principal", run.principal());
    json.put("session", run.session());
    json.put("status", name(run.status()));
    json.put("startedAt", OutcomeJson.time(run.startedAt()));
    json.put("changedAt", OutcomeJson.time(run.changedAt()));
    json.put("since", OutcomeJson.time(run.since()));
    ArrayNode waits = json.putArray("waitsFor");
    run.waitsFor()
        .forEach(
            wait ->
                waits
                    .addObject()
                    .put("step", wait.step())
                    .put("kind", name(wait.kind()))
                    .put("what", wait.what()));
    run.tags().forEach(json.putArray("tags")::add);
    ForkOrigin origin = run.fork();
    if (origin != null) {
      json.set("fork", fork(origin));
    }
    return json;
  }

  public static ObjectNode entries(List<Runs.Entry> entries) {
    ObjectNode json = Json.object();
    ArrayNode all = json.putArray("entries");
    entries.forEach(entry -> all.add(entry(entry)));
    return json;
  }

  private static ObjectNode entry(Runs.Entry entry) {
    ObjectNode json = Json.object();
    json.put("entry", entry.entry()).put("at", OutcomeJson.time(entry.at()));
    json.put("by", entry.by()).put("principal", entry.principal());
    entry.account().forEach(json.putArray("account")::add);
    return json;
  }

  /** A fork, and the first reply to it. */
  public static ObjectNode forked(Fork fork) {
    ObjectNode json = Json.object().put("flow", fork.flow()).put("runId", fork.runId());
    json.put("principal", fork.principal()).put("sessionId", fork.sessionId());
    return json.set("reply", fork.reply().structured());
  }

  /** Where a run was forked from. */
  public static ObjectNode fork(ForkOrigin origin) {
    return Json.object()
        .put("runId", origin.runId())
        .put("entry", origin.entry())
        .put("entryAt", OutcomeJson.time(origin.entryAt()))
        .put("mode", name(origin.mode()))
        .put("by", origin.by());
  }

  /** The status of a name, ignoring case; empty if there is none. */
  public static Optional<RunInfo.Status> status(String name) {
    return Arrays.stream(RunInfo.Status.values())
        .filter(status -> name(status).equals(name.toLowerCase(Locale.ROOT)))
        .findFirst();
  }

  public static String name(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }
}
