package io.fermata.cli;

import io.fermata.persistence.Store;
import io.fermata.session.admin.DataKeys;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The option {@code --store}: the store of sessions, from the command line, the environment or the
 * default. A command of one's own has it as a mixin:
 *
 * <pre>{@code
 * @Mixin StoreOption store = new StoreOption();
 * }</pre>
 */
public final class StoreOption {
  private static final String SQLITE = "sqlite:";
  private static final String POSTGRES = "postgres:";
  private static final String DEFAULT = SQLITE + "fermata.db";

  @Spec(Spec.Target.MIXEE)
  @Nullable CommandSpec command;

  @Option(
      names = "--store",
      paramLabel = "STORE",
      description = {
        "Where sessions live: sqlite:<file>, postgres://<user>@<host>/<database>,",
        "a key-value store (redis://<host>:<port>/<db>, waniwani:<url>), or memory to try",
        "things out. By default the environment variable FERMATA_STORE, else the WaniWani",
        "account of WANIWANI_API_KEY, else " + DEFAULT + "."
      })
  @Nullable String spec;

  /**
   * The store; it is created if it is missing.
   *
   * @throws ParameterException if the option or the environment is wrong
   */
  public Store store() {
    requireKeys();
    return named();
  }

  /**
   * The store of a command that only reads or erases, which must exist: a mistyped name is not an
   * empty store.
   *
   * @throws ParameterException if the option or the environment is wrong
   * @throws UnusableException if there is no such store
   */
  public Store present() {
    Store present = presentWithoutKeys();
    requireKeys();
    return present;
  }

  /** As {@link #present}, for a command that decrypts nothing. */
  Store presentWithoutKeys() {
    return present(named());
  }

  /**
   * Requires that a store exists.
   *
   * @throws UnusableException if it does not
   */
  static Store present(Store store) {
    if (!store.exists()) {
      String name = store.toString();
      throw new UnusableException(
          "There is no store %s; name one with --store%s, or create it with serve"
              .formatted(
                  name, name.startsWith(POSTGRES) ? " and its schema with currentSchema=" : ""));
    }
    return store;
  }

  /**
   * What to do instead of a command that reads one state of a store, if a server has it open; null
   * if there is nothing.
   */
  @Nullable String copied(String command) {
    String name = named().toString();
    String of = spec == null ? "" : " --store " + name;
    String how;
    if (name.startsWith(SQLITE)) {
      how = "backup copy.db%s; then %s --store sqlite:copy.db".formatted(of, command);
    } else if (name.startsWith(POSTGRES)) {
      how = "pg_dump into another database; then " + command + " --store postgres://…/copy";
    } else {
      return null;
    }
    return "If a server has the store open, copy it: " + how;
  }

  private void requireKeys() {
    try {
      DataKeys.fromEnvironment();
    } catch (IllegalArgumentException e) {
      // A new key in place of one that is out of reach would leave what that one encrypted unread.
      boolean unread = e.getCause() instanceof UncheckedIOException;
      String next = unread ? "" : "; for a new key: key <id>, with an id that was not used before";
      throw new ParameterException(commandLine(), e.getMessage() + next, e);
    }
  }

  private Store named() {
    String named = spec;
    if (named != null) {
      return parse(named, commandLine());
    }
    try {
      return Store.fromEnvironment().orElseGet(() -> Store.parse(DEFAULT));
    } catch (IllegalArgumentException e) {
      throw new ParameterException(commandLine(), e.getMessage(), e);
    }
  }

  static Store parse(String spec, CommandLine of) {
    try {
      return Store.parse(spec);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(of, e.getMessage(), e);
    }
  }

  private CommandLine commandLine() {
    if (command == null) {
      throw new IllegalStateException("The option is read by picocli only");
    }
    return command.commandLine();
  }
}
