package io.fermata.examples;

import io.fermata.session.HostBuilder;
import io.fermata.session.admin.ClusterSettings;
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
      names = "--cluster-plaintext",
      description =
          "Servers talk unencrypted at their --cluster-address, in a network that nobody else can"
              + " read or write.")
  boolean plaintext;

  HostBuilder apply(HostBuilder host, CommandLine command) {
    if (!cluster && (address != null || plaintext)) {
      throw new ParameterException(
          command, "--cluster-address and --cluster-plaintext need --cluster");
    }
    return cluster ? host.cluster(settings(command)) : host;
  }

  private ClusterSettings settings(CommandLine command) {
    if (address == null) {
      return ClusterSettings.LOCAL;
    }
    int colon = address.lastIndexOf(':');
    String host = colon < 0 ? address : address.substring(0, colon);
    ClusterSettings settings = ClusterSettings.at(host);
    if (colon >= 0) {
      try {
        settings = settings.port(Integer.parseInt(address.substring(colon + 1)));
      } catch (IllegalArgumentException e) {
        throw new ParameterException(
            command, "--cluster-address is " + address + "; write HOST or HOST:PORT", e);
      }
    }
    return plaintext ? settings.inPlaintext() : settings;
  }
}
