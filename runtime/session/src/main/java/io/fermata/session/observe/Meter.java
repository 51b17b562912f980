package io.fermata.session.observe;

import java.util.List;
import java.util.Locale;

/** What a host and its servers count, time and show. Its names are those of metrics. */
public enum Meter {
  CALLS(
      Kind.TIMER,
      "calls",
      "Calls of tools, threads and runs, until their reply",
      "tool",
      "kind",
      "status",
      "code"),
  EFFECTS(
      Kind.TIMER, "effects", "Attempts of effects of flows and agents", "flow", "node", "status"),
  RUNS(Kind.COUNTER, "runs", "Changes of runs", "flow", "change", "code"),
  UNREADABLE(
      Kind.COUNTER,
      "sessions.unreadable",
      "Sessions that were called or due and are unreadable",
      "code"),
  STARTS(
      Kind.COUNTER,
      "schedules.starts",
      "Occurrences of schedules, and attempts that are repeated",
      "schedule",
      "outcome"),
  APPENDS(Kind.TIMER, "journal.append", "Time to append to a journal"),
  ENTRIES(Kind.SUMMARY, "journal.entries", "Journal entries appended in one write"),
  WAKES(
      Kind.TIMER, "sessions.wake", "Time to wake a session, including the reading of its journal"),
  TOKENS(
      Kind.COUNTER, "model.tokens", "Tokens that models read and wrote", "agent", "model", "kind"),
  COST(
      Kind.COUNTER,
      "model.cost",
      "US dollars that models cost, by their configured prices",
      "agent",
      "model"),
  REQUESTS(
      Kind.TIMER,
      "mcp.requests",
      "Requests of MCP clients, until their response",
      "method",
      "outcome"),
  REFUSALS(
      Kind.COUNTER,
      "mcp.refusals",
      "Requests refused and connections closed by a server",
      "reason"),
  CONNECTIONS(Kind.GAUGE, "mcp.connections", "Open connections"),
  STREAMS(Kind.GAUGE, "mcp.streams", "Open event streams of threads, and of changes"),
  AWAKE(Kind.GAUGE, "sessions.awake", "Sessions in memory"),
  WAKING(Kind.GAUGE, "sessions.waking", "Sessions that are reading their journals"),
  IN_FLIGHT(Kind.GAUGE, "calls.waiting", "Calls in flight"),
  DUE(Kind.GAUGE, "timers.due", "Sessions whose timers are due soon"),
  SCHEDULES(Kind.GAUGE, "schedules", "Schedules that start runs"),
  LAG(
      Kind.MILLIS,
      "upkeep.lag",
      "How long sessions that this host is to wake have waited for it",
      "work"),
  POOLED(Kind.GAUGE, "store.connections", "Open connections of the store", "pool", "state"),
  POOL_WAITING(
      Kind.GAUGE, "store.waiting", "Requests that wait for a connection of the store", "pool"),
  MEMBERS(Kind.GAUGE, "cluster.members", "Hosts of the cluster, as this one sees them", "status"),
  SHARDS(Kind.GAUGE, "cluster.shards", "Shards that this host holds"),
  HEARTBEAT(
      Kind.MILLIS,
      "cluster.heartbeat",
      "Time since the store renewed this host's heartbeat and its lease"),
  RESENDS(
      Kind.TOTAL,
      "cluster.resends",
      "Calls sent again, as the host of their session did not confirm them"),
  FENCED(
      Kind.TOTAL,
      "cluster.refusals",
      "Writes that the store refused, as another host holds their shard"),
  ACQUIRED(Kind.TIMER, "cluster.shards.acquire", "Time to take a shard in the store"),
  HANDED_OVER(
      Kind.TIMER,
      "cluster.shards.handover",
      "Time to hand a shard over, until its sessions have stopped"),
  FORWARDED(
      Kind.TIMER,
      "cluster.calls",
      "Calls of sessions on other hosts, until those replied, or confirmed that they arrived");

  /** The code of what has none, as a tag. */
  public static final String NO_CODE = "none";

  /** How its values come, and their unit. The last three are read, by a {@link Telemetry.Gauge}. */
  public enum Kind {
    /** How long each took, in nanoseconds. */
    TIMER,
    /** By how much a sum grows. */
    COUNTER,
    /** How much each was. */
    SUMMARY,
    /** A value that rises and falls. */
    GAUGE,
    /** A time that rises and falls, in milliseconds. */
    MILLIS,
    /** A sum that only grows. */
    TOTAL
  }

  private final Kind kind;
  private final String title;
  private final String description;

  @SuppressWarnings("ImmutableEnumChecker") // it is made by List.of
  private final List<String> tags;

  Meter(Kind kind, String title, String description, String... tags) {
    this.kind = kind;
    this.title = "fermata." + title;
    this.description = description;
    this.tags = List.of(tags);
  }

  public Kind kind() {
    return kind;
  }

  /** Its name, such as {@code fermata.calls}. */
  public String title() {
    return title;
  }

  public String description() {
    return description;
  }

  /** The names of its tags, in the order of their values. */
  public List<String> tags() {
    return tags;
  }

  /** Whether only hosts of a cluster have it. */
  public boolean clustered() {
    return title.startsWith("fermata.cluster.");
  }

  /** A constant as the value of a tag. */
  public static String tag(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }
}
