package io.fermata.cli;

import io.fermata.cli.telemetry.StandardLog;
import io.fermata.flow.replay.ForkException;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.persistence.spi.StoreException;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.key.RootCauses;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The command line of an application: serves its flows and agents, talks with them, and looks after
 * the store of their sessions.
 *
 * <pre>{@code
 * public static void main(String[] arguments) {
 *   System.exit(Cli.of("orders", host -> host.flow(Order.FLOW)).run(arguments));
 * }
 * }</pre>
 */
public final class Cli {
  /** A store, file, server or the output cannot be used, or lacks what was asked for. */
  public static final int UNUSABLE = 3;

  /** The address or the port cannot be used. */
  public static final int CANNOT_LISTEN = 4;

  /** A check found runs or threads that this release cannot continue. */
  public static final int STRANDED = 5;

  /** A verification found damage. */
  public static final int DAMAGED = 6;

  /** The store was lost for good. */
  public static final int LOST = 7;

  /** A replay decided some run otherwise. */
  public static final int DECIDED_OTHERWISE = 8;

  /** A replay could not compare all runs to their end. */
  public static final int NOT_ALL_DECIDED = 9;

  /** The options that all commands show first; the name and the version are the application's. */
  @Command(
      mixinStandardHelpOptions = true,
      synopsisSubcommandLabel = "COMMAND",
      exitCodeListHeading = "%nExit codes:%n",
      exitCodeList = {
        "0:success",
        "1:an unexpected failure",
        "2:the command line or the environment is wrong",
        "3:a store, file, server or the output cannot be used, or lacks what was asked for",
        "4:the address or port cannot be used",
        "5:a check found runs or threads that this release cannot continue",
        "6:a verification found damage",
        "7:the store was lost for good: its file was deleted or replaced, another host took it"
            + " over, or the other hosts removed this one from their cluster",
        "8:a replay decided some run, or what was to be recorded, otherwise",
        "9:a replay decided none otherwise, but could not read some, or not compare them to their"
            + " end"
      })
  private static final class Root {}

  private static final List<Class<?>> ALL =
      List.of(
          ServeCommand.class,
          StdioCommand.class,
          ChatCommand.class,
          RunsCommand.class,
          GraphCommand.class,
          KeyCommand.class,
          CheckCommand.class,
          ReplayCommand.class,
          ForkCommand.class,
          VerifyCommand.class,
          ExportCommand.class,
          RecordCommand.class,
          ImportCommand.class,
          BackupCommand.class,
          EraseCommand.class);

  private static final Logger LOG = LoggerFactory.getLogger(Cli.class);

  private final String name;
  private final String version;
  private final String description;
  private final Application application;
  private final List<Object> more;

  private Cli(
      String name, String version, String description, Application application, List<Object> more) {
    this.name = name;
    this.version = version;
    this.description = description;
    this.application = application;
    this.more = more;
  }

  /**
   * The command line of an application.
   *
   * @param name as it is called, and as its server introduces itself to clients
   */
  public static Cli of(String name, Application application) {
    String version = application.getClass().getPackage().getImplementationVersion();
    return new Cli(
        name,
        version == null ? "development" : version,
        "Flows and agents, served as MCP tools and over HTTP.",
        application,
        List.of());
  }

  /**
   * Its version; by default the {@code Implementation-Version} in the manifest of the application's
   * jar, else {@code development}.
   */
  public Cli version(String number) {
    return new Cli(name, number, description, application, more);
  }

  /** What its help says first. */
  public Cli description(String text) {
    return new Cli(name, version, text, application, more);
  }

  /**
   * Adds a command of picocli: an object with its annotation.
   *
   * @throws IllegalArgumentException if it has no such annotation, or its name is not new
   */
  public Cli command(Object added) {
    Command annotation = added.getClass().getAnnotation(Command.class);
    if (annotation == null) {
      throw new IllegalArgumentException(
          added.getClass().getName() + " is no command; annotate it with picocli's @Command");
    } else if (commands().anyMatch(each -> nameOf(each).equals(annotation.name()))) {
      throw new IllegalArgumentException(
          "There is a command %s already; rename that of %s"
              .formatted(annotation.name(), added.getClass().getName()));
    }
    List<Object> all = new ArrayList<>(more);
    all.add(added);
    return new Cli(name, version, description, application, List.copyOf(all));
  }

  /** The classes of its own commands, and the other commands. */
  private Stream<Object> commands() {
    return Stream.concat(ALL.stream(), more.stream());
  }

  private static String nameOf(Object command) {
    Class<?> type = command instanceof Class<?> ours ? ours : command.getClass();
    return type.getAnnotation(Command.class).name();
  }

  String name() {
    return name;
  }

  String version() {
    return version;
  }

  Application application() {
    return application;
  }

  /**
   * The command line for these arguments, to be executed with them. If they begin with the name of
   * a command it has no other: each takes its time to be made. Without arguments it has all.
   *
   * <p>If Logback has found no configuration, a command that is executed gives it the {@linkplain
   * StandardLog standard} one.
   *
   * @throws CommandLine.InitializationException if an option of the application has the name of
   *     another one
   */
  public CommandLine commandLine(String... given) {
    CommandLine line = new CommandLine(new Root(), new CommandFactory());
    line.setCommandName(name).getCommandSpec().version(name + " " + version);
    line.getCommandSpec().usageMessage().description(description);
    String first = first(given);
    List<Object> named = commands().filter(each -> nameOf(each).equals(first)).toList();
    (named.isEmpty() ? commands().toList() : named).forEach(line::addSubcommand);
    line.getSubcommands().values().stream()
        .map(CommandLine::getCommandSpec)
        .filter(
            command ->
                command.userObject() instanceof ConsoleCommand ours && ours.needsApplication())
        .forEach(
            command ->
                command.addMixin(
                    "application", CommandSpec.forAnnotatedObjectLenient(application)));
    return line.setCaseInsensitiveEnumValuesAllowed(true)
        .registerConverter(Duration.class, Cli::duration)
        .setExecutionStrategy(Cli::executed)
        .setParameterExceptionHandler((wrong, arguments) -> refuse(wrong))
        .setExecutionExceptionHandler((thrown, command, parsed) -> explain(thrown, command));
  }

  private static Duration duration(String text) {
    try {
      return Duration.parse(text);
    } catch (DateTimeParseException e) {
      throw new CommandLine.TypeConversionException(
          "'%s' is not a duration such as PT5M or P1D".formatted(text));
    }
  }

  /** Help and the version are printed without a log, which takes its time to be configured. */
  private static int executed(ParseResult parsed) {
    Integer helped = CommandLine.executeHelpRequest(parsed);
    if (helped != null) {
      return helped;
    }
    StandardLog.configure();
    return new CommandLine.RunLast().execute(parsed);
  }

  /** Makes commands of this command line. */
  private final class CommandFactory implements CommandLine.IFactory {
    @Override
    public <K> K create(Class<K> type) throws Exception {
      K made = CommandLine.defaultFactory().create(type);
      if (made instanceof ConsoleCommand command) {
        command.partOf(Cli.this);
      }
      return made;
    }
  }

  /** Runs a command on the standard streams, and returns the exit code. */
  public int run(String... arguments) {
    CommandLine line = commandLine(arguments);
    // All commands print through one writer, and what it holds back is part of the output.
    line.getOut();
    int code = line.execute(arguments);
    line.getOut().flush();
    // A client that starts a server may leave it at any time.
    boolean left = StdioCommand.NAME.equals(first(arguments));
    if (code != ExitCode.OK || left || !System.out.checkError()) {
      return code;
    }
    PrintWriter err = line.getErr();
    err.println("Not all output could be written: the disk is full, or its reader has ended");
    err.flush();
    return UNUSABLE;
  }

  private static String first(String... arguments) {
    return arguments.length == 0 ? "" : arguments[0];
  }

  /** After a known command, only the error is printed and not the whole usage. */
  private static int refuse(ParameterException wrong) {
    CommandLine command = wrong.getCommandLine();
    PrintWriter err = command.getErr();
    err.println(wrong.getMessage());
    UnmatchedArgumentException.printSuggestions(wrong, err);
    if (command.getParent() == null) {
      command.usage(err);
    } else {
      err.println("See " + command.getCommandName() + " --help.");
    }
    err.flush();
    return ExitCode.USAGE;
  }

  /**
   * A failure that the user can repair is printed as its message and logged for debugging, any
   * other is printed with its stack trace.
   */
  private static int explain(Exception thrown, CommandLine command) throws Exception {
    Throwable cause = RootCauses.of(thrown);
    String repairable = repairable(cause);
    if (repairable != null) {
      LOG.debug("The command ends for this reason", cause);
      command.getErr().println(repairable);
      if (cause instanceof StoreException
          && !(cause instanceof NoHistoryException)
          && command.getCommand() instanceof ConsoleCommand refused
          && refused.whileServed() != null) {
        command.getErr().println(refused.whileServed());
      }
      return UNUSABLE;
    } else if (thrown instanceof ServeCommand.CannotListen) {
      command.getErr().println(thrown.getMessage());
      return CANNOT_LISTEN;
    }
    throw thrown;
  }

  /** What the user can repair; null if it is something else. */
  private static @Nullable String repairable(Throwable cause) {
    if (cause instanceof UncheckedIOException wrapper) {
      return repairable(Objects.requireNonNull(wrapper.getCause()));
    } else if (cause instanceof IOException) {
      // Some name only a file, so the kind is a part of the reason.
      return "Reading or writing failed: %s; check that the file, disk or server can be used"
          .formatted(cause);
    }
    return cause instanceof ForkException
            || cause instanceof StoreException
            || cause instanceof ArchiveException
            || cause instanceof EncryptionException
            || cause instanceof ThreadException
            || cause instanceof UnusableException
        ? String.valueOf(cause.getMessage())
        : null;
  }

  /** Prints why a server ends by itself, and returns its exit code. */
  static int explainLoss(String reason, PrintWriter err) {
    err.println("This server ends: " + reason);
    err.flush();
    return LOST;
  }

  static String counted(long number, String one, String many) {
    return number + " " + (number == 1 ? one : many);
  }
}
