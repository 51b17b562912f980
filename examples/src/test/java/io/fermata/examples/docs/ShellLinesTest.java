package io.fermata.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.ports.Ports;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Runs every shell line of the documents.
 *
 * <p>The {@code ```sh} blocks of a document are one bash script, in which they keep their line
 * numbers. It runs in an empty folder, and stops at the first line that fails. The class path of
 * this test replaces the jar of the examples, and a free port replaces 8080. {@code serve} runs in
 * the background until the next one or the end; an HTTP error is a failure; a stream, {@code curl
 * -N}, is read for two seconds. Blocks that say {@code norun} build the project, or need what a
 * test does not have; only their names are checked.
 */
class ShellLinesTest {
  private static final String PRELUDE =
      """
      set -eEuo pipefail
      trap 'echo "$DOCUMENT:$LINENO: failed: $BASH_COMMAND" >&2' ERR
      trap 'stop_serving' EXIT
      SERVER=
      stop_serving() {
        if [ -n "$SERVER" ]; then
          kill "$SERVER" 2>/dev/null || true
          wait "$SERVER" || true
          SERVER=
        fi
      }
      java() {
        local main
        while [[ "$1" == -X* ]]; do shift; done
        case "$1 $2" in
          "-jar examples/target/fermata-examples.jar") main=io.fermata.examples.Main; shift 2 ;;
          "-cp examples/target/fermata-examples.jar") main=$3; shift 3 ;;
          *) echo "java $*: not a command of the examples" >&2; return 1 ;;
        esac
        case "${1-}" in
          serve)
            stop_serving
            "$JAVA" $JAVA_QUICK -cp "$CLASSES" "$main" "$@" >server.out 2>server.err &
            SERVER=$!
            for _ in $(seq 300); do
              if grep -q 'Fermata serves' server.out; then return; fi
              if ! kill -0 "$SERVER" 2>/dev/null; then break; fi
              sleep 0.1
            done
            cat server.out server.err >&2
            return 1 ;;
          *) "$JAVA" $JAVA_QUICK -cp "$CLASSES" "$main" "$@" ;;
        esac
      }
      curl() {
        local argument stream=
        for argument in "$@"; do
          if [ "$argument" = -N ]; then stream=yes; fi
        done
        if [ -n "$stream" ]; then
          command curl -sS --fail --max-time 2 "$@" || [ $? = 28 ]
        else
          command curl -sS --fail-with-body --max-time 60 "$@"
        fi
      }
      """;

  private static final String QUICK =
      "-Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+IgnoreUnrecognizedVMOptions"
          + " --sun-misc-unsafe-memory-access=allow --enable-native-access=ALL-UNNAMED";

  private static final Pattern PROFILE = Pattern.compile(" -P(\\w+)");
  private static final Pattern MODULES = Pattern.compile(" -pl ([\\w/,-]+)");
  private static final Pattern MODULE = Pattern.compile("<module>(.+)</module>");
  private static final Pattern TESTS = Pattern.compile(" -Dtest='?([\\w,#*]+)");
  private static final Pattern MAIN = Pattern.compile("io\\.fermata\\.[\\w.]+");

  @TempDir Path folder;

  static Stream<Document> documents() {
    return Document.all().stream().filter(document -> !runnable(document).isEmpty());
  }

  private static List<Document.Block> runnable(Document document) {
    return document.blocks("sh").stream().filter(block -> !block.is("norun")).toList();
  }

  @Tag("tools")
  @ParameterizedTest(name = "{0}")
  @MethodSource("documents")
  void runsFromTheFirstToTheLast(Document document) throws Exception {
    Path prelude = Files.writeString(folder.resolve("prelude.sh"), PRELUDE);
    Path script = Files.writeString(folder.resolve("script.sh"), script(document));
    Path said = folder.resolve("said.txt");
    ProcessBuilder bash =
        new ProcessBuilder("bash", script.toString())
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(said.toFile());
    bash.environment().keySet().removeIf(name -> name.matches("FERMATA_.*|WANIWANI_.*|PG.*"));
    bash.environment().put("BASH_ENV", prelude.toString());
    bash.environment().put("DOCUMENT", document.path());
    bash.environment().put("JAVA", Path.of(System.getProperty("java.home"), "bin/java").toString());
    bash.environment().put("JAVA_QUICK", QUICK);
    bash.environment().put("CLASSES", classPath());
    Process running = bash.start();
    boolean ended = running.waitFor(900, TimeUnit.SECONDS);
    running.destroy();
    assertThat(ended && running.exitValue() == 0).as(Files.readString(said)).isTrue();
  }

  /** As many lines as the document has, so that bash reports the line number of a failure. */
  private static String script(Document document) throws IOException {
    List<String> lines = new ArrayList<>(document.lines());
    lines.replaceAll(line -> "");
    for (Document.Block block : runnable(document)) {
      for (int i = 0; i < block.lines().size(); i++) {
        lines.set(block.line() - 1 + i, block.lines().get(i));
      }
    }
    return String.join("\n", lines).replace("8080", String.valueOf(Ports.free())) + "\n";
  }

  private static String classPath() {
    return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
        .map(entry -> Path.of(entry).toAbsolutePath().toString())
        .collect(Collectors.joining(File.pathSeparator));
  }

  @Test
  void whatIsNotRunNamesWhatThereIs() throws IOException {
    Types types = Types.ofRepository();
    String build = build();
    List<String> wrong = new ArrayList<>();
    for (Document document : Document.all()) {
      for (Document.Block block : document.blocks("sh")) {
        String text = String.join("\n", block.lines());
        for (String profile : named(PROFILE, text)) {
          require(build.contains("<id>" + profile + "</id>"), block, "profile " + profile, wrong);
        }
        for (String module : named(MODULES, text)) {
          boolean there = build.contains("<module>" + module + "</module>");
          require(there, block, "module " + module, wrong);
        }
        for (String test : named(TESTS, text)) {
          String type = test.replaceAll("[#*].*", "");
          require(test.contains("*") || !types.named(type).isEmpty(), block, test, wrong);
        }
        for (String main : MAIN.matcher(text).results().map(found -> found.group()).toList()) {
          String type = main.substring(main.lastIndexOf('.') + 1);
          boolean there =
              types.named(type).stream().anyMatch(s -> (s.pack() + "." + type).equals(main));
          require(there, block, main, wrong);
        }
      }
    }
    assertThat(wrong).isEmpty();
  }

  /** The whole build: that of the repository, and those of its modules. */
  private static String build() throws IOException {
    String parent = Files.readString(Document.ROOT.resolve("pom.xml"));
    StringBuilder build = new StringBuilder(parent);
    for (Matcher module = MODULE.matcher(parent); module.find(); ) {
      build.append(Files.readString(Document.ROOT.resolve(module.group(1)).resolve("pom.xml")));
    }
    return build.toString();
  }

  private static List<String> named(Pattern what, String text) {
    List<String> names = new ArrayList<>();
    for (Matcher matcher = what.matcher(text); matcher.find(); ) {
      names.addAll(List.of(matcher.group(1).split(",", -1)));
    }
    return names;
  }

  private static void require(
      boolean there, Document.Block block, String what, List<String> wrong) {
    if (!there) {
      wrong.add(block + " names " + what + ", which is not there");
    }
  }
}
