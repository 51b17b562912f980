package io.fermata.examples.command;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A command that picocli runs. */
abstract class ConsoleCommand implements Callable<Integer> {
  @Spec @Nullable CommandSpec command;

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

  /** What to do instead of a command that reads one state of the store. */
  static String copied(String command) {
    return "If a server has the store open, copy it: backup copy.db; then %s --store sqlite:copy.db"
        .formatted(command);
  }
}
