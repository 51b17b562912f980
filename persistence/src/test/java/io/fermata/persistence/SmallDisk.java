package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** A disk of a few megabytes; only a machine's administrator may mount one. */
record SmallDisk(Path mountPoint) implements AutoCloseable {

  static SmallDisk mount(Path parent) throws IOException {
    Path mountPoint = Files.createDirectory(parent.resolve("disk"));
    assertThat(run("mount", "-t", "tmpfs", "-o", "size=24m", "small", mountPoint.toString()))
        .as("a small disk is mounted, which only root may do")
        .isZero();
    return new SmallDisk(mountPoint);
  }

  /** Where files may be put. */
  Path files() throws IOException {
    return Files.createDirectories(mountPoint.resolve("files"));
  }

  /** Takes all the room that is left. */
  void fill() throws IOException {
    try (OutputStream filler = Files.newOutputStream(filler())) {
      byte[] block = new byte[4096];
      while (true) {
        filler.write(block);
      }
    } catch (IOException full) {
      if (!String.valueOf(full.getMessage()).contains("No space left")) {
        throw full;
      }
    }
  }

  void free() throws IOException {
    Files.delete(filler());
  }

  private Path filler() {
    return mountPoint.resolve("filler");
  }

  static int run(String... command) throws IOException {
    return new ProcessBuilder(command).inheritIO().start().onExit().join().exitValue();
  }

  @Override
  public void close() throws IOException {
    run("umount", "-l", mountPoint.toString());
  }
}
