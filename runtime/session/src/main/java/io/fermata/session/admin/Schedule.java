package io.fermata.session.admin;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * When a host starts runs of a flow by itself.
 *
 * <pre>{@code
 * Schedule.of("nightly", "report").cron("0 3 * * *").zone(ZoneId.of("Europe/Berlin"))
 * }</pre>
 *
 * <p>Each occurrence starts exactly one run, however often the host is restarted or lost. The run
 * belongs to the principal {@value #PRINCIPAL} and to a session of its own, which is named in
 * {@code _meta} by {@code fermata/sessionId} = {@code <schedule>/<time>}, for instance {@code
 * nightly/2026-05-01T01:00:00Z}. A run that pauses stays paused until somebody calls it by these
 * names.
 *
 * @param name what the schedule is called; it goes on where it was under the same name
 * @param flow the id of the flow that is started
 * @param cron minute, hour, day of month, month and day of week
 * @param every the time between two occurrences
 * @param zone whose clocks {@code cron} speaks of
 * @param intent why the run is started, as the flow is told
 * @param updates the answers that the run starts with
 * @param missed what becomes of occurrences that went by
 */
public record Schedule(
    String name,
    String flow,
    @Nullable String cron,
    @Nullable Duration every,
    ZoneId zone,
    String intent,
    ObjectNode updates,
    MissedRuns missed) {

  /** Who the runs of schedules belong to. */
  public static final String PRINCIPAL = "fermata/schedule";

  public Schedule {
    updates = updates.deepCopy();
  }

  /**
   * A schedule that still needs {@link #cron(String)} or {@link #every(Duration)}.
   *
   * @param name lower-case letters, digits, _ and -, no other schedule's of the host
   * @param flow the id of a flow of the host
   */
  public static Schedule of(String name, String flow) {
    return new Schedule(
        name,
        flow,
        null,
        null,
        ZoneOffset.UTC,
        "Scheduled: " + name,
        Json.object(),
        MissedRuns.LATEST);
  }

  /**
   * Minute, hour, day of month, month and day of week, as Unix has it. An hour that the zone's
   * clocks skip comes when they have skipped it, and one that they show twice counts the first
   * time; only where the hour is {@code *} every hour that passes counts.
   */
  public Schedule cron(String expression) {
    return new Schedule(name, flow, expression, every, zone, intent, updates, missed);
  }

  /** That much time between two occurrences; the first comes that long after the first start. */
  public Schedule every(Duration interval) {
    return new Schedule(name, flow, cron, interval, zone, intent, updates, missed);
  }

  /** Whose clocks the cron expression speaks of; UTC if nothing is said. */
  public Schedule zone(ZoneId value) {
    return new Schedule(name, flow, cron, every, value, intent, updates, missed);
  }

  public Schedule intent(String value) {
    return new Schedule(name, flow, cron, every, zone, value, updates, missed);
  }

  /** The {@code stateUpdates} of the call that starts the run. */
  public Schedule updates(ObjectNode value) {
    return new Schedule(name, flow, cron, every, zone, intent, value, missed);
  }

  /** The {@code stateUpdates} of the call that starts the run. */
  public Schedule updates(Map<String, ?> values) {
    ObjectNode object = Json.object();
    values.forEach((field, value) -> object.set(field, Json.tree(value)));
    return updates(object);
  }

  /** What becomes of occurrences that went by; {@link MissedRuns#LATEST} if nothing is said. */
  public Schedule missed(MissedRuns value) {
    return new Schedule(name, flow, cron, every, zone, intent, updates, value);
  }

  /** A copy: changing it does not change the schedule. */
  @Override
  public ObjectNode updates() {
    return updates.deepCopy();
  }
}
