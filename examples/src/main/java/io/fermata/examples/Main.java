package io.fermata.examples;

import io.fermata.examples.command.Commands;

/** The entry point of the examples. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) {
    System.exit(Commands.run(arguments));
  }
}
