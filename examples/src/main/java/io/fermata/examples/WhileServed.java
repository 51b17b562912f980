package io.fermata.examples;

/** A command that needs a store for itself, and can be had in another way while a server has it. */
interface WhileServed {
  /** What to do then, in one line. */
  String whileServed();

  /** The way of those that read one state of the store. */
  static String copied(String command) {
    return "If a server has the store open, copy it: backup copy.db; then %s --store sqlite:copy.db"
        .formatted(command);
  }
}
