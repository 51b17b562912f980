package io.fermata.cli;

import io.fermata.cli.telemetry.LoggedHost;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.ClusterSettings;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** Whether a server shares its store with others. */
final class ClusterOptions {
  /** A host, in brackets if it has colons, and a port. */
  private static final Pattern ADDRESS =
      Pattern.compile("(?:\\[([^\\[\\]]+)]|([^:\\[\\]]+))(?::([0-9]+))?");

  @Option(
      names = "--cluster",
      description = {
        "Shares the store, which must be PostgreSQL, with other servers that are started so.",
        "Each runs a part of the sessions; any takes any call."
      })
  boolean cluster;

  @Option(
      names = "--cluster-address",
      paramLabel = "HOST[:PORT]",
      description = {
        "Where the other servers reach this one; by default they all run on this machine.",
        "Without a port it is any free one."
      })
  @Nullable String address;

  @Option(
      names = "--cluster-tls",
      paramLabel = "DIRECTORY",
      description = {
        "Servers talk by TLS, only with those whose certificate is of the same authority and",
        "has a name of this one's. The directory has tls.crt, tls.key (RSA) and ca.crt, in PEM;",
        "they are read again every five minutes."
      })
  @Nullable Path tls;

  @Option(
      names = "--cluster-plaintext",
      description =
          "Servers talk unencrypted at their --cluster-address, in a network that nobody else can"
              + " read or write.")
  boolean plaintext;

  HostBuilder apply(HostBuilder host, CommandLine command) {
    if (!cluster && (address != null || tls != null || plaintext)) {
      throw new ParameterException(
          command, "--cluster-address, --cluster-tls and --cluster-plaintext need --cluster");
    }
    if (!cluster) {
      return host;
    }
    LoggedHost.name(address);
    return host.cluster(settings(command));
  }

  private ClusterSettings settings(CommandLine command) {
    ClusterSettings settings = reachedAt(command);
    if (tls != null) {
      settings = settings.tls(tls);
    }
    return plaintext ? settings.inPlaintext() : settings;
  }

  private ClusterSettings reachedAt(CommandLine command) {
    if (address == null) {
      return ClusterSettings.LOCAL;
    }
    Matcher read = ADDRESS.matcher(address);
    try {
      if (read.matches()) {
        ClusterSettings at = ClusterSettings.at(read.group(read.group(1) == null ? 2 : 1));
        return read.group(3) == null ? at : at.port(Integer.parseInt(read.group(3)));
      }
    } catch (IllegalArgumentException e) {
      throw wrong(command, e);
    }
    throw wrong(command, null);
  }

  private ParameterException wrong(CommandLine command, @Nullable Throwable cause) {
    return new ParameterException(
        command,
        "--cluster-address is %s; write HOST or HOST:PORT, an IPv6 address in brackets"
            .formatted(address),
        cause);
  }
}
