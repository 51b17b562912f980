package io.fermata.examples.command;

import io.fermata.flow.replay.ForkException;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.persistence.spi.StoreException;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.admin.ThreadException;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.CompletionException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command line of the examples. */
@Command(
    name = "fermata-examples",
    description = "Example flows and agents, served as MCP tools and over HTTP.",
    mixinStandardHelpOptions = true,
    versionProvider = Commands.Version.class,
    synopsisSubcommandLabel = "COMMAND",
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:success",
      "1:an unexpected failure",
      "2:the command line or the environment is wrong",
      "3:a store, file, server or the output cannot be used, or lacks what was asked for",
      "4:the address or port cannot be used",
      "5:a check found runs that this release cannot continue",
      "6:a verification found damage",
      "7:the store was lost for good: its file was deleted or replaced, another host took it over,"
          + " or the other hosts removed this one from their cluster",
      "8:a replay decided some run, or what was to be recorded, otherwise",
      "9:a replay decided none otherwise, but could not read some, or not compare them to their end",
      "10:an evaluation passed less often than required"
    })
public final class Commands {
  public static final int UNUSABLE = 3;
  static final int CANNOT_LISTEN = 4;
  static final int RUNS_STRANDED = 5;
  public static final int DAMAGED = 6;
  public static final int LOST = 7;
  public static final int DECIDED_OTHERWISE = 8;
  public static final int NOT_ALL_DECIDED = 9;
  static final int PASSED_TOO_SELDOM = 10;

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
          EvaluateCommand.class,
          ForkCommand.class,
          VerifyCommand.class,
          ExportCommand.class,
          RecordCommand.class,
          ImportCommand.class,
          BackupCommand.class,
          EraseCommand.class);

  private Commands() {}

  /**
   * The command line for these arguments. If they begin with the name of a command it has no other:
   * each takes its time to be made.
   */
  public static CommandLine commandLine(String... given) {
    CommandLine line = new CommandLine(new Commands());
    String first = first(given);
    List<Class<?>> named =
        ALL.stream()
            .filter(type -> type.getAnnotation(Command.class).name().equals(first))
            .toList();
    (named.isEmpty() ? ALL : named).forEach(line::addSubcommand);
    return line.setCaseInsensitiveEnumValuesAllowed(true)
        .setParameterExceptionHandler((wrong, arguments) -> refuse(wrong))
        .setExecutionExceptionHandler((thrown, command, parsed) -> explain(thrown, command));
  }

  /** Runs a command on the standard streams, and returns the exit code. */
  public static int run(String... arguments) {
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
   * A failure that the user can repair is printed as its message, any other with its stack trace.
   */
  private static int explain(Exception thrown, CommandLine command) throws Exception {
    Throwable cause =
        thrown instanceof CompletionException && thrown.getCause() != null
            ? thrown.getCause()
            : thrown;
    if (cause instanceof ForkException
        || cause instanceof StoreException
        || cause instanceof ArchiveException
        || cause instanceof EncryptionException
        || cause instanceof ThreadException
        || cause instanceof UsageException) {
      command.getErr().println(cause.getMessage());
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

  /** Prints why a server ends by itself, and returns its exit code. */
  static int explainLoss(String reason, PrintWriter err) {
    err.println("This server ends: " + reason);
    err.flush();
    return LOST;
  }

  static String counted(long number, String one, String many) {
    return number + " " + (number == 1 ? one : many);
  }

  public static String version() {
    String version = Commands.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }

  static final class Version implements CommandLine.IVersionProvider {
    @Override
    public String[] getVersion() {
      return new String[] {"fermata-examples " + version()};
    }
  }
}
