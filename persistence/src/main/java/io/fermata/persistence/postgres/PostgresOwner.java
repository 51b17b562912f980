package io.fermata.persistence.postgres;

import io.fermata.persistence.spi.StoreException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The names under which hosts claim a schema: an id, a space, and a description for operators. */
final class PostgresOwner {

  /** The name of every host that shares its claim. */
  static final String CLUSTER = "cluster a cluster of hosts";

  private PostgresOwner() {}

  /** A new name for a host of this process. */
  static String ofThisProcess() {
    return UUID.randomUUID()
        + " process "
        + ProcessHandle.current().pid()
        + " on "
        + hostName()
        + " since "
        + Instant.now().truncatedTo(ChronoUnit.SECONDS);
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException unnamed) {
      return "an unnamed machine";
    }
  }

  /** A name without its id. */
  static String described(@Nullable String owner) {
    return owner == null ? "a host that is starting" : owner.substring(owner.indexOf(' ') + 1);
  }

  /** Refuses a host because of the present owner. */
  static StoreException inUse(PostgresAddress address, @Nullable String owner, boolean shared) {
    if (shared) {
      return new StoreException(
          address.shown()
              + " is in use by "
              + described(owner)
              + ", which does not share it; stop that host, and start it with cluster()");
    }
    return new StoreException(
        CLUSTER.equals(owner)
            ? address.shown()
                + " is used by a cluster of hosts; start this host with cluster(), too, or stop"
                + " them all"
            : address.shown()
                + " is in use by "
                + described(owner)
                + "; stop that host, or name another schema for this one with the"
                + " parameter currentSchema");
  }
}
