package io.fermata.session.admin;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A schedule on which a host starts runs of a flow.
 *
 * <pre>{@code
 * Schedule.of("nightly", "report").cron("0 3 * * *").zone(ZoneId.of("Europe/Berlin"))
 * }</pre>
 *
 * <p>Each occurrence starts exactly one run, across restarts and crashes of the host. The run
 * belongs to the principal {@value #PRINCIPAL} and to its own session, which {@code _meta} names by
 * {@code fermata/sessionId} = {@code <schedule>/<time>}, for instance {@code
 * nightly/2026-05-01T01:00:00Z}. A paused run waits until it is called by these names.
 *
 * @param name the name; a schedule of the same name continues where it was
 * @param flow the id of the flow to start
 * @param cron minute, hour, day of month, month and day of week
 * @param every the time between two occurrences
 * @param zone the time zone of {@code cron}
 * @param intent the intent that the flow receives
 * @param updates the answers with which the run starts
 * @param missed what happens to missed occurrences
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

  /** The principal of the runs of schedules. */
  public static final String PRINCIPAL = "fermata/schedule";

  public Schedule {
    updates = updates.deepCopy();
  }

  /**
   * A schedule that still needs {@link #cron(String)} or {@link #every(Duration)}.
   *
   * @param name lower-case letters, digits, _ and -, unique in the host
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
   * Minute, hour, day of month, month and day of week, as in Unix. At a change of the clocks, a
   * skipped time occurs right after the gap, and a repeated one occurs once, the first time; if the
   * hour is {@code *}, every elapsed hour counts.
   */
  public Schedule cron(String expression) {
    return new Schedule(name, flow, expression, every, zone, intent, updates, missed);
  }

  /** A fixed interval; the first occurrence is one interval after the first start. */
  public Schedule every(Duration interval) {
    return new Schedule(name, flow, cron, interval, zone, intent, updates, missed);
  }

  /** The time zone of the cron expression; UTC by default. */
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

  /** What happens to missed occurrences; {@link MissedRuns#LATEST} by default. */
  public Schedule missed(MissedRuns value) {
    return new Schedule(name, flow, cron, every, zone, intent, updates, value);
  }

  /** A copy; changes of it have no effect. */
  @Override
  public ObjectNode updates() {
    return updates.deepCopy();
  }
}
