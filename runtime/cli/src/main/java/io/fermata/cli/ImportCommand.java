package io.fermata.cli;

import io.fermata.session.admin.Imported;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Imports an exported journal into a store. */
@Command(
    name = "import",
    description = {
      "Imports an exported journal into the store; it continues where it was when a server"
          + " starts.",
      "Everything is checked before anything is written. No server may have the store open."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class ImportCommand extends ConsoleCommand {
  private static final String HANDLES =
      "Clients that continue with a sessionId of the old store need: serve --accept-handles-of <that"
          + " store>";

  @Parameters(paramLabel = "FILE", description = "A file that export wrote.")
  Path file = Path.of("");

  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() throws IOException {
    requireExport(file);
    try (InputStream from = Files.newInputStream(file);
        Opened opened = dormant(store.store())) {
      Imported imported = now(opened.host().journals().importFrom(from));
      out()
          .printf(
              "%s of the %s %s of %s; %s%n",
              Cli.counted(imported.records(), "record", "records"),
              imported.kind(),
              imported.id(),
              imported.name(),
              imported.signature().text());
      if (imported.kind().equals("run")) {
        out().println(HANDLES);
      }
      out().flush();
    }
    return 0;
  }
}
