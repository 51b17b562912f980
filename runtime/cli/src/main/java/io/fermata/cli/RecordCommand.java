package io.fermata.cli;

import io.fermata.session.admin.RecordingException;
import io.fermata.session.admin.Scrubbing;
import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Makes a test of a run or of a thread. */
@Command(
    name = "record",
    description = {
      "Makes a test of a run or a thread: writes its journal as JSON Lines, in clear, with invented",
      "values in place of secret ones, and decides it again to see that the test will pass. No",
      "server may have the store open."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {"0:it is recorded", "8:it would be decided otherwise, and was not recorded"})
final class RecordCommand extends ConsoleCommand {
  @Parameters(paramLabel = "FILE", description = "The file to write; it must not exist yet.")
  Path file = Path.of("");

  @ArgGroup(multiplicity = "1")
  ExportCommand.What what = new ExportCommand.What();

  @Option(
      names = "--scrub",
      paramLabel = "FIELD",
      description = {
        "A further field with invented values: of a run its path, such as customer.email or",
        "**.email, of a thread its name. May be repeated."
      })
  List<String> fields = new ArrayList<>();

  @Option(
      names = "--anyway",
      description = "Writes it even if it would be decided otherwise, to edit it by hand.")
  boolean anyway;

  @Mixin StoreOption store = new StoreOption();

  @Override
  public Integer call() {
    Scrubbing scrubbing = Scrubbing.SECRETS.and(fields.toArray(String[]::new));
    scrubbing = anyway ? scrubbing.writtenAnyway() : scrubbing;
    if (Files.exists(file)) {
      throw new UnusableException(ExportCommand.exists(file));
    }
    ByteArrayOutputStream recording = new ByteArrayOutputStream();
    try (Opened opened = dormant(store.present())) {
      long records = now(what.in(opened.host().journals()).record(scrubbing, recording));
      ExportCommand.creating(
          file,
          to -> {
            recording.writeTo(to);
            return records;
          });
      println(Cli.counted(records, "record", "records") + " in " + file);
      return 0;
    } catch (CompletionException e) {
      if (e.getCause() instanceof RecordingException refused) {
        commandLine().getErr().println(refused.getMessage());
        return Cli.DECIDED_OTHERWISE;
      }
      throw e;
    } catch (IllegalArgumentException e) {
      throw new UnusableException(String.valueOf(e.getMessage()), e);
    }
  }

  @Override
  @Nullable String whileServed() {
    return store.copied("record");
  }
}
