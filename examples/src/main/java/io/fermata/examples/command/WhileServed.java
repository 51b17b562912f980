package io.fermata.examples.command;

/**
 * A command that needs exclusive access to a store, and has an alternative while a server has it
 * open.
 */
interface WhileServed {
  /** The alternative, in one line. */
  String whileServed();

  /** The alternative of a command that reads one state of the store. */
  static String copied(String command) {
    return "If a server has the store open, copy it: backup copy.db; then %s --store sqlite:copy.db"
        .formatted(command);
  }
}
