package io.fermata.bench.crash;

import io.fermata.jvm.ClassArchive;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A ledger server in a separate process. */
record Killable(Process process, int port) {

  private static List<String> classPath = List.of("-cp", System.getProperty("java.class.path"));

  /** Lets the servers that are started from now on load their classes from an archive. */
  static void useArchive(Path folder) throws Exception {
    ClassArchive archive = ClassArchive.in(folder);
    classPath = archive.writing();
    Process server = start("memory", folder.resolve("effects.log")).process();
    server.destroy();
    if (!server.waitFor(60, TimeUnit.SECONDS)) {
      throw new IllegalStateException("The server did not end upon SIGTERM");
    }
    classPath = archive.using();
  }

  /** A server on a store of its own, at any free port. */
  static Killable start(String store, Path effects) throws IOException {
    return start(store, effects, List.of(), "0");
  }

  /**
   * A server with further options of its JVM.
   *
   * @param ports its port, and that among the hosts of a cluster if it belongs to one
   */
  static Killable start(String store, Path effects, List<String> options, String... ports)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.addAll(options);
    command.addAll(classPath);
    command.addAll(List.of(LedgerServer.class.getName(), effects.toString()));
    command.addAll(List.of(ports));
    Path log = log(effects);
    ProcessBuilder server =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()));
    server.environment().put("FERMATA_STORE", store);
    Process process = server.start();
    BufferedReader out =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    for (String line = out.readLine(); line != null; line = out.readLine()) {
      if (line.startsWith("ready ")) {
        drain(out);
        return new Killable(process, Integer.parseInt(line.substring("ready ".length())));
      }
    }
    throw new IOException("The server did not start; see " + log);
  }

  /** What all servers with the same effects log. */
  static Path log(Path effects) {
    return effects.resolveSibling("server.log");
  }

  /** A process stops when the pipe of its output is full, so the output is read. */
  private static void drain(BufferedReader out) {
    Thread drain =
        new Thread(
            () -> {
              try {
                out.transferTo(Writer.nullWriter());
              } catch (IOException e) {
                // The process has ended.
              }
            },
            "server-output");
    drain.setDaemon(true);
    drain.start();
  }

  /** Kills with SIGKILL, so that no code of the process runs any more. */
  void kill() throws InterruptedException {
    process.destroyForcibly();
    if (!process.waitFor(30, TimeUnit.SECONDS)) {
      throw new IllegalStateException("The server outlived a SIGKILL");
    }
  }

  /** Sends a signal, such as {@code STOP}. */
  void signal(String name) throws IOException, InterruptedException {
    Process kill =
        new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).inheritIO().start();
    if (kill.waitFor() != 0) {
      throw new IllegalStateException("SIG" + name + " could not be sent to " + process.pid());
    }
  }
}
