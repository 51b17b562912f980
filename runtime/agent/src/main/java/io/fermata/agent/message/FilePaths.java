package io.fermata.agent.message;

import io.fermata.flow.json.Texts;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Paths of files of a thread: absolute, without empty and parent segments. */
public final class FilePaths {
  private static final int LONGEST = 512;

  private FilePaths() {}

  public static String clean(@Nullable String path) {
    String given = path == null ? "" : Texts.sound(path.strip());
    String clean = given.startsWith("/") ? given : "/" + given;
    if (clean.contains("//") || (clean + "/").contains("/../") || clean.length() > LONGEST) {
      throw new IllegalArgumentException("\"" + given + "\" is not the path of a file");
    }
    return clean;
  }

  /** Compiles a glob: * matches anything but a slash, ** matches anything. */
  public static Pattern glob(String glob) {
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
    return Pattern.compile(regex.toString());
  }
}
