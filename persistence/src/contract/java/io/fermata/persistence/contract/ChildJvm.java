package io.fermata.persistence.contract;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A second JVM that runs {@link JournalProcess}, or another main class that speaks as it does. */
public final class ChildJvm implements AutoCloseable {

  private final Process process;
  private final BufferedReader output;

  private ChildJvm(Process process) {
    this.process = process;
    this.output = process.inputReader(UTF_8);
  }

  public static ChildJvm start(Path file, int writes, String... launcher) {
    return start("sqlite:" + file, writes, launcher);
  }

  public static ChildJvm start(String store, int writes, String... launcher) {
    return start(JournalProcess.class, store, writes, launcher);
  }

  public static ChildJvm start(Class<?> main, String store, int writes, String... launcher) {
    List<String> command = new ArrayList<>(List.of(launcher));
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of("-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path")));
    command.addAll(List.of(main.getName(), store, Integer.toString(writes)));
    try {
      return new ChildJvm(
          new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
    } catch (IOException failed) {
      throw new AssertionError(failed);
    }
  }

  /** What a process says that tries to open the file. */
  public static String refusal(Path file, String... launcher) {
    try (ChildJvm child = start(file, 0, launcher)) {
      String line = child.line();
      if (line == null || !line.startsWith(JournalProcess.REFUSED)) {
        throw new AssertionError("The second process was not refused but said: " + line);
      }
      return line.substring(JournalProcess.REFUSED.length());
    }
  }

  public @Nullable String line() {
    try {
      return output.readLine();
    } catch (IOException failed) {
      throw new AssertionError(failed);
    }
  }

  /** The sequence numbers it acknowledges from now on, until there are so many or it ends. */
  public List<Long> acknowledged(int atMost) {
    List<Long> sequenceNumbers = new ArrayList<>();
    while (sequenceNumbers.size() < atMost) {
      String line = line();
      if (line == null) {
        break;
      }
      if (line.startsWith(JournalProcess.ACKNOWLEDGED)) {
        sequenceNumbers.add(Long.parseLong(line.substring(JournalProcess.ACKNOWLEDGED.length())));
      }
    }
    return sequenceNumbers;
  }

  public long pid() {
    return process.pid();
  }

  /** Through its handle: the process itself would also close the output that is still unread. */
  public void kill() {
    process.toHandle().destroyForcibly();
  }

  public int exitCode() {
    try {
      return process.waitFor(60, TimeUnit.SECONDS) ? process.exitValue() : -1;
    } catch (InterruptedException interrupted) {
      throw new AssertionError(interrupted);
    }
  }

  @Override
  public void close() {
    kill();
    exitCode();
  }
}
