package io.fermata.cli;

import io.fermata.cli.telemetry.LoggedHost;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.ClusterSettings;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** Whether a server shares its store with others. */
final class ClusterOptions {
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
    int colon = address.lastIndexOf(':');
    if (colon < 0) {
      return ClusterSettings.at(address);
    }
    try {
      int port = Integer.parseInt(address.substring(colon + 1));
      return ClusterSettings.at(address.substring(0, colon)).port(port);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(
          command, "--cluster-address is " + address + "; write HOST or HOST:PORT", e);
    }
  }
}
