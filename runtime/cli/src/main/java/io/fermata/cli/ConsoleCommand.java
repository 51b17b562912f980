package io.fermata.cli;

import io.fermata.agent.InvalidAgentException;
import io.fermata.cli.telemetry.LoggedHost;
import io.fermata.flow.InvalidFlowException;
import io.fermata.mcp.McpServerBuilder;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.key.Closing;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A command that picocli runs. */
abstract class ConsoleCommand implements Callable<Integer> {
  @Spec @Nullable CommandSpec command;

  private @Nullable Cli cli;

  /**
   * The end of a command: its server, its host and its application close in this order, as far as
   * they are there, also when a signal ends the process. A host that is starting is waited for, and
   * none starts once the end has begun.
   */
  static final class Ending implements AutoCloseable {
    /** Who starts a process and ends it by a signal does not wait long. */
    static final Duration GRACE = Duration.ofSeconds(3);

    private final Application application;
    private final Closing closing = new Closing();
    private final Thread hook = new Thread(this::closeOnSignal, "fermata-close");
    private volatile Supplier<Duration> server = () -> GRACE;
    private volatile CompletableFuture<Optional<Fermata>> host =
        CompletableFuture.completedFuture(Optional.empty());
    private volatile boolean begun;

    private Ending(Application application) {
      this.application = application;
    }

    /** Of an application that is about to open what it needs. */
    static Ending of(Application application) {
      Ending ending = new Ending(application);
      Runtime.getRuntime().addShutdownHook(ending.hook);
      return ending;
    }

    /**
     * Starts the host, which an end waits for, unless the end has begun.
     *
     * @throws UnusableException if the end has begun meanwhile
     */
    Fermata host(Supplier<Fermata> start) {
      CompletableFuture<Optional<Fermata>> starting = new CompletableFuture<>();
      host = starting;
      try {
        requireNotBegun();
        Fermata started = start.get();
        starting.complete(Optional.of(started));
        requireNotBegun();
        return started;
      } finally {
        starting.complete(Optional.empty());
      }
    }

    private void requireNotBegun() {
      if (begun) {
        throw new UnusableException("The process was ended before it had started; start it again");
      }
    }

    /**
     * @param drain ends the server, and returns how long running work may take after that
     */
    void server(Supplier<Duration> drain) {
      server = drain;
    }

    private void closeOnSignal() {
      Duration left = GRACE;
      try {
        left = server.get();
      } finally {
        close(left);
      }
    }

    /** The end of a command that serves nothing any more. */
    @Override
    public void close() {
      try {
        close(Duration.ofSeconds(30));
      } finally {
        forget();
      }
    }

    private void close(Duration timeout) {
      begun = true;
      CompletableFuture<Optional<Fermata>> started = host;
      if (!isOver(started)) {
        // The work of a host that is still starting must not find a closed application.
        return;
      }
      try {
        started.join().ifPresent(it -> it.close(timeout));
      } finally {
        closing.close(GRACE, Duration.ZERO, application::close);
      }
    }

    private static boolean isOver(CompletableFuture<?> start) {
      return start
          .thenApply(started -> true)
          .completeOnTimeout(false, GRACE.toMillis(), TimeUnit.MILLISECONDS)
          .join();
    }

    private void forget() {
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException e) {
        // The hook runs already.
      }
    }
  }

  /** A host of the application, which is closed with it. */
  record Opened(Fermata host, Ending ending) implements AutoCloseable {
    @Override
    public void close() {
      ending.close();
    }
  }

  /** Whether it has the options of the application. */
  boolean needsApplication() {
    return true;
  }

  final void partOf(Cli whole) {
    cli = whole;
  }

  final Cli cli() {
    return Objects.requireNonNull(cli, "The command is made by its command line only");
  }

  /** The application on a host that is not started. */
  private Looked unstarted(UnaryOperator<HostBuilder> more) {
    Ending ending = Ending.of(cli().application());
    return orClose(ending, () -> new Looked(more.apply(described(cli().application())), ending));
  }

  private HostBuilder described(Application application) {
    HostBuilder host = Fermata.host();
    try {
      application.addTo(host);
    } catch (InvalidFlowException | InvalidAgentException e) {
      throw e;
    } catch (IllegalArgumentException e) {
      throw wrong(e);
    }
    if (host.store().isPresent()) {
      throw new UnusableException(
          "The application names a store; leave that to --store and FERMATA_STORE");
    }
    return host;
  }

  /** Takes a step with what is open, and closes it if that fails. */
  static <T> T orClose(AutoCloseable open, Supplier<T> step) {
    try {
      return step.get();
    } catch (RuntimeException | Error e) {
      try {
        open.close();
      } catch (Exception second) {
        e.addSuppressed(second);
      }
      throw e;
    }
  }

  /** An application that is only looked at. */
  record Looked(HostBuilder host, Ending ending) implements AutoCloseable {
    /** Starts its host, or closes the application. */
    Opened opened() {
      return orClose(this, () -> new Opened(ending.host(() -> explained(host::start)), ending));
    }

    /** As {@link #opened}; continues no work of the store. */
    Opened dormant(Store store) {
      host.store(store).dormant();
      return opened();
    }

    @Override
    public void close() {
      ending.close();
    }
  }

  /** Starts no host. */
  final Looked looked() {
    return unstarted(host -> host);
  }

  /**
   * Does the work of the store.
   *
   * @param more what the command adds to the host of the application
   */
  final Opened started(UnaryOperator<HostBuilder> more) {
    LoggedHost.name(null);
    Opened opened = unstarted(more).opened();
    return orClose(
        opened,
        () -> {
          cli().application().started(opened.host());
          return opened;
        });
  }

  /** Continues no work of the store. */
  final Opened dormant(Store store) {
    return looked().dormant(store);
  }

  /**
   * Does what fails if the host of the application could not start.
   *
   * @throws UnusableException with the reason
   */
  static <T> T explained(Supplier<T> step) {
    try {
      return step.get();
    } catch (IllegalStateException e) {
      throw new UnusableException(e.getMessage(), e);
    }
  }

  /** A server with the name, the version and the tools of the application. */
  final McpServerBuilder introduced(McpServerBuilder server) {
    cli().application().addTo(server.name(cli().name()).version(cli().version()));
    return server;
  }

  /**
   * Waits for a result.
   *
   * @throws UnusableException with the reason, if what the command names is refused
   */
  static <T> T now(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof IllegalArgumentException refused) {
        throw new UnusableException(refused.getMessage(), refused);
      }
      throw e;
    }
  }

  /**
   * Requires a file that can be read.
   *
   * @throws UnusableException if it is none, with what to do
   */
  static void requireExport(Path file) {
    if (!Files.isRegularFile(file) || !Files.isReadable(file)) {
      throw new UnusableException(file + " cannot be read; name a file that export wrote");
    }
  }

  final CommandLine commandLine() {
    if (command == null) {
      throw new IllegalStateException("The command is run by picocli only");
    }
    return command.commandLine();
  }

  final PrintWriter out() {
    return commandLine().getOut();
  }

  final void print(String text) {
    out().print(text);
    out().flush();
  }

  final void println(String line) {
    out().println(line);
    out().flush();
  }

  final ParameterException wrong(@Nullable String why) {
    return new ParameterException(commandLine(), why);
  }

  final ParameterException wrong(IllegalArgumentException e) {
    return new ParameterException(commandLine(), e.getMessage(), e);
  }

  /**
   * What to do while a server has the store open, in one line; null if the command needs no store
   * for itself, or there is nothing else to do.
   */
  @Nullable String whileServed() {
    return null;
  }
}
