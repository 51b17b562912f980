package io.fermata.agent;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The files of a thread: small ones, which live in its journal. Paths begin with a slash and
 * folders need not be made.
 */
public final class ThreadFiles {
  private final Scribe scribe;

  ThreadFiles(Scribe scribe) {
    this.scribe = scribe;
  }

  /** A line of a file that a search found. */
  public record Match(String path, int line, String text) {}

  /** Writes a file, in place of one that has the path. */
  public Shelf.StoredFile write(String path, String mimeType, byte[] data) {
    String clean = clean(path);
    boolean isNew = !exists(clean);
    if (data.length > Bounds.FILE) {
      throw new IllegalArgumentException(
          "The file %s has %d bytes; a thread keeps files of at most %d"
              .formatted(clean, data.length, Bounds.FILE));
    } else if (isNew && scribe.state().shelf().files().size() >= Bounds.FILES) {
      throw new IllegalArgumentException(
          "The thread has %d files already; delete some before writing %s"
              .formatted(Bounds.FILES, clean));
    }
    scribe.write(new ThreadEvent.FileWritten(clean, mimeType, data.clone(), scribe.now()));
    return stat(clean);
  }

  public Shelf.StoredFile write(String path, String text) {
    return write(path, "text/plain", text.getBytes(StandardCharsets.UTF_8));
  }

  public byte[] read(String path) throws InterruptedException {
    return scribe.bytes(stat(path));
  }

  public String readText(String path) throws InterruptedException {
    return new String(read(path), StandardCharsets.UTF_8);
  }

  public boolean exists(String path) {
    return scribe.state().shelf().files().containsKey(clean(path));
  }

  /** What is known of a file. */
  public Shelf.StoredFile stat(String path) {
    Shelf.StoredFile file = scribe.state().shelf().files().get(clean(path));
    if (file == null) {
      throw new IllegalArgumentException("The thread has no file " + clean(path));
    }
    return file;
  }

  /** The paths that begin so, a folder's for instance. */
  public List<String> list(String prefix) {
    return List.copyOf(Keys.startingWith(scribe.state().shelf().files().keySet(), clean(prefix)));
  }

  /** The paths that a pattern matches, with * for anything but a slash and ** for anything. */
  public List<String> find(String glob) {
    Pattern pattern = Pattern.compile(regex(clean(glob)));
    return list("/").stream().filter(path -> pattern.matcher(path).matches()).toList();
  }

  /** The lines of text files below a path in which a regular expression is found. */
  public List<Match> grep(String regex, String prefix) throws InterruptedException {
    Pattern pattern = Pattern.compile(regex);
    List<Match> matches = new ArrayList<>();
    for (String path : list(prefix)) {
      if (stat(path).mimeType().startsWith("text/")) {
        List<String> lines = readText(path).lines().toList();
        for (int i = 0; i < lines.size(); i++) {
          if (pattern.matcher(lines.get(i)).find()) {
            matches.add(new Match(path, i + 1, lines.get(i)));
          }
        }
      }
    }
    return matches;
  }

  public void delete(String path) {
    scribe.write(new ThreadEvent.FileRemoved(stat(path).path()));
  }

  public void move(String path, String to) {
    scribe.write(new ThreadEvent.FileMoved(stat(path).path(), clean(to)));
  }

  static String clean(@Nullable String path) {
    String given = path == null ? "" : path.strip();
    String clean = given.startsWith("/") ? given : "/" + given;
    if (clean.contains("//") || (clean + "/").contains("/../") || clean.length() > 512) {
      throw new IllegalArgumentException("\"" + given + "\" is not the path of a file");
    }
    return clean;
  }

  private static String regex(String glob) {
    StringBuilder regex = new StringBuilder();
    for (int i = 0; i < glob.length(); i++) {
      if (glob.startsWith("**", i)) {
        regex.append(".*");
        i++;
      } else {
        char c = glob.charAt(i);
        regex.append(c == '*' ? "[^/]*" : Pattern.quote(String.valueOf(c)));
      }
    }
    return regex.toString();
  }
}
