package io.fermata.agent;

import io.fermata.agent.state.ThreadStorage;
import java.util.List;

/**
 * The files of a thread: small ones, which are stored in its journal. Paths start with a slash;
 * folders need not be created.
 */
public interface ThreadFiles {
  /** A line that {@link #grep} found. */
  record Match(String path, int line, String text) {}

  /** Writes a file, and replaces one with that path. */
  ThreadStorage.StoredFile write(String path, String mimeType, byte[] data);

  ThreadStorage.StoredFile write(String path, String text);

  byte[] read(String path) throws InterruptedException;

  String readText(String path) throws InterruptedException;

  boolean exists(String path);

  /** The metadata of a file. */
  ThreadStorage.StoredFile stat(String path);

  /** The paths that start with a prefix, such as a folder. */
  List<String> list(String prefix);

  /** The paths that match a glob: * matches anything but a slash, ** matches anything. */
  List<String> find(String glob);

  /** The lines that match a regular expression, of the text files below a path. */
  List<Match> grep(String regex, String prefix) throws InterruptedException;

  void delete(String path);

  void move(String path, String to);
}
