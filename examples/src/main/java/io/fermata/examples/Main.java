package io.fermata.examples;

import io.fermata.persistence.StoreException;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line of the examples. */
@Command(
    name = "fermata-examples",
    description = "Example flows and agents, served as MCP tools and over HTTP.",
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class,
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {
      ServeCommand.class,
      StdioCommand.class,
      ChatCommand.class,
      RunsCommand.class,
      GraphCommand.class,
      KeyCommand.class,
      CheckCommand.class,
      ExportCommand.class,
      ImportCommand.class,
      BackupCommand.class,
      EraseCommand.class
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:ended in good order",
      "1:something unexpected failed",
      "2:the command line is wrong",
      "3:the store cannot be used, for instance because another process has it",
      "4:the address or port cannot be had",
      "5:a check found runs that this release cannot continue"
    })
public final class Main {
  static final int STORE_UNUSABLE = 3;
  static final int CANNOT_LISTEN = 4;
  static final int RUNS_STRANDED = 5;

  private Main() {}

  public static void main(String[] arguments) {
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    return new CommandLine(new Main())
        .setExecutionExceptionHandler((thrown, command, parsed) -> explain(thrown, command));
  }

  /** A failure that the user can repair is told in its own words, any other with its trace. */
  private static int explain(Exception thrown, CommandLine command) throws Exception {
    if (thrown instanceof StoreException) {
      command.getErr().println(thrown.getMessage());
      return STORE_UNUSABLE;
    } else if (thrown instanceof ServeCommand.CannotListen) {
      command.getErr().println(thrown.getMessage());
      return CANNOT_LISTEN;
    }
    throw thrown;
  }

  static String version() {
    String version = Main.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }

  static final class Version implements CommandLine.IVersionProvider {
    @Override
    public String[] getVersion() {
      return new String[] {"fermata-examples " + version()};
    }
  }
}
