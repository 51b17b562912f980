package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.disk.SmallDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A file under a second name; only a machine's administrator may mount one. */
record BindMount(Path name) implements AutoCloseable {

  static BindMount of(Path file, Path name) throws IOException {
    Files.createFile(name);
    assertThat(SmallDisk.run("mount", "--bind", file.toString(), name.toString()))
        .as("a file is mounted, which only root may do")
        .isZero();
    return new BindMount(name);
  }

  @Override
  public void close() throws IOException {
    SmallDisk.run("umount", "-l", name.toString());
  }
}
