package io.fermata.examples.docs;

import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A project of somebody else, as the README says, with the published modules and an empty local
 * repository.
 */
@Tag("long")
class ConsumerTest {
  private static final List<String> MODULES =
      List.of(
          "runtime/bom",
          "runtime/flow",
          "runtime/agent",
          "persistence",
          "persistence/keyvalue",
          "runtime/session",
          "runtime/mcp",
          "runtime/cli",
          "runtime/testkit");

  /** What this build has downloaded already. */
  private static final String DOWNLOADED =
      "<repository><id>downloaded</id><url>%s</url></repository>";

  private static final String PROJECT =
      """
      <project xmlns="http://maven.apache.org/POM/4.0.0">
        <modelVersion>4.0.0</modelVersion>
        <groupId>consumer</groupId><artifactId>consumer</artifactId><version>1</version>
        <properties>
          <maven.compiler.release>17</maven.compiler.release>
          <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
        </properties>
        <repositories>
          <repository>
            <id>published</id><url>%s</url>
            <snapshots><enabled>true</enabled></snapshots>
          </repository>
          %s
        </repositories>
        <pluginRepositories>%s</pluginRepositories>
        %s
        <build>
          <plugins>%s</plugins>
        </build>
      </project>
      """;

  private static final String TEST =
      """
      import io.fermata.testkit.FlowProbe;
      import java.nio.file.Files;
      import java.nio.file.Path;
      import org.junit.jupiter.api.Test;

      class DeliveryTest {
        @Test
        void ordersSoup() throws Exception {
          FlowProbe.of(Delivery.flow())
              .start("is hungry", "people", 2)
              .asks("dish")
              .answer("dish", "soup")
              .completes();
          Files.writeString(
              Path.of("target", "class-path"), System.getProperty("surefire.test.class.path"));
        }
      }
      """;

  /** The README's agent, which needs a model and a flow. */
  private static final String DESK =
      """
      import io.fermata.agent.Agent;
      import io.fermata.agent.Budget;
      import io.fermata.agent.FlowTool;
      import io.fermata.agent.Prompt;
      import io.fermata.agent.Tool;
      import io.fermata.agent.model.Model;
      import io.fermata.flow.Flow;
      import io.fermata.flow.schema.Describe;

      final class Desk {
        static Agent agent(Model model, Flow<?> refundFlow) {
          %s
          return desk;
        }
      }
      """;

  /** The agent asks for approval, and calls the flow once somebody approves at its next host. */
  private static final String DESK_TEST =
      """
      import static io.fermata.flow.Flow.END;
      import static io.fermata.flow.Flow.START;
      import static io.fermata.testkit.ScriptedModel.lastIsResultOf;
      import static io.fermata.testkit.ScriptedModel.lastUserContains;
      import static org.junit.jupiter.api.Assertions.assertEquals;

      import io.fermata.agent.message.Message;
      import io.fermata.agent.model.Model;
      import io.fermata.flow.Flow;
      import io.fermata.flow.schema.Computed;
      import io.fermata.persistence.Store;
      import io.fermata.session.Fermata;
      import io.fermata.session.admin.Threads;
      import io.fermata.testkit.ScriptedModel;
      import java.nio.file.Path;
      import java.time.Duration;
      import java.util.List;
      import java.util.Map;
      import java.util.Set;
      import java.util.concurrent.CompletionStage;
      import org.junit.jupiter.api.Test;

      class DeskTest {
        record Refund(String order, @Computed String receipt) {}

        static final Flow<Refund> REFUND = Flow.of("refund", Refund.class)
            .description("Pays an order back.")
            .ask("ask_order", q -> q.question("order", "Which order is it?"))
            .act("pay", run -> run.set("receipt", "paid back " + run.state().order()))
            .edge(START, "ask_order").edge("ask_order", "pay").edge("pay", END)
            .result(Refund::receipt)
            .compile();

        static final Model MODEL = ScriptedModel.script()
            .when(lastUserContains("back")).call("refund", Map.of("order", "B-1001"))
            .when(lastIsResultOf("refund")).say("Your money is on its way.")
            .otherwise().say("How can I help?")
            .model("scripted");

        static Fermata host() {
          return Fermata.host()
              .store(Store.sqlite(Path.of("target", "desk.db")))
              .agent(Desk.agent(MODEL, REFUND))
              .start();
        }

        static <T> T now(CompletionStage<T> stage) {
          return stage.toCompletableFuture().join();
        }

        @Test
        void paysBackWhatAColleagueApproves() {
          String thread;
          try (Fermata host = host()) {
            Threads threads = host.threads();
            thread = now(threads.create(new Threads.NewThread(
                "ann", "desk", null, Set.of(), Map.of(), List.of()))).threadId();
            now(threads.post("ann", thread,
                new Threads.NewMessage(Message.user("I want my money back."), List.of(), "1")));
            assertEquals(Threads.Status.ASKING,
                now(threads.settled("ann", thread, Duration.ofMinutes(1))).status());
          }
          try (Fermata host = host()) {
            Threads threads = host.threads();
            Threads.Question asked = now(threads.get("ann", thread)).questions().get(0);
            assertEquals("Pay B-1001 back?", asked.question().path("question").asText());
            now(threads.answer("ann", thread,
                new Threads.Answer(asked.call(), "2", true, null, null)));
            assertEquals(Threads.Status.RESTING,
                now(threads.settled("ann", thread, Duration.ofMinutes(1))).status());
            assertEquals("Your money is on its way.",
                now(threads.messages("ann", thread, Threads.MessageQuery.latest(1).withSilent())).messages().get(0).content());
          }
        }
      }
      """;

  private static final String MODULE =
      """
      module delivery {
        requires io.fermata.cli;
        requires jakarta.validation;
        opens delivery to com.fasterxml.jackson.databind;
      }
      """;

  /** A run that is continued by the next host. */
  private static final String MAIN =
      """
      package delivery;

      import com.fasterxml.jackson.databind.JsonNode;
      import com.fasterxml.jackson.databind.node.JsonNodeFactory;
      import com.fasterxml.jackson.databind.node.ObjectNode;
      import io.fermata.mcp.McpServer;
      import io.fermata.persistence.Store;
      import io.fermata.session.Fermata;
      import io.fermata.session.call.ToolCall;
      import java.nio.file.Path;

      public final class Main {
        public static void main(String[] args) throws Exception {
          Path file = Path.of(args[0]);
          JsonNode asked = call(file, object().put("action", "start").put("intent", "is hungry")
              .set("stateUpdates", object().put("people", 2)));
          System.out.println("asked " + asked.get("question").asText());
          JsonNode ended = call(file, object().put("action", "continue")
              .set("stateUpdates", object().put("dish", "soup")));
          System.out.println("receipt " + ended.at("/result/receipt").asText());
        }

        static JsonNode call(Path file, ObjectNode arguments) throws Exception {
          ObjectNode meta = object().put("fermata/sessionId", "chat");
          try (Fermata host = Fermata.host().store(Store.sqlite(file)).flow(Delivery.flow()).start();
              McpServer server = McpServer.serving(host).port(0).start()) {
            return host.call(new ToolCall("order", "ann", arguments, meta, null))
                .toCompletableFuture().get().structured();
          }
        }

        static ObjectNode object() {
          return JsonNodeFactory.instance.objectNode();
        }
      }
      """;

  /** Jars of tests, which are no modules of the application. */
  private static final List<String> NO_MODULE =
      List.of("junit-", "opentest4j-", "apiguardian-", "surefire-", "fermata-testkit-");

  @TempDir private static Path folder = Path.of("");

  private static Path published() {
    return folder.resolve("published");
  }

  private static Path consumer() {
    return folder.resolve("consumer");
  }

  /** The jars of the consumer, in a repository that was empty before. */
  private static String classPath() throws IOException {
    return Files.readString(consumer().resolve("target/class-path"));
  }

  @BeforeAll
  static void publish() throws Exception {
    maven(
        Document.ROOT,
        "-Prelease,quick",
        "-Dmaven.test.skip",
        // Javadoc that an earlier build made would be published as it is.
        "-DstaleDataPath=" + folder.resolve("stale"),
        "-DaltDeploymentRepository=published::" + published().toUri(),
        "-pl",
        String.join(",", MODULES),
        "deploy");
    String downloaded = DOWNLOADED.formatted(Path.of(System.getProperty("maven.local")).toUri());
    write(
        consumer().resolve("pom.xml"),
        PROJECT.formatted(
            published().toUri(),
            downloaded,
            downloaded.replace("repository>", "pluginRepository>"),
            dependencies(),
            plugin("maven-resources-plugin")
                + plugin("maven-compiler-plugin")
                + plugin("maven-surefire-plugin")));
    write(
        consumer().resolve("src/main/java/Delivery.java"),
        readme("java", "public final class Delivery"));
    write(consumer().resolve("src/test/java/DeliveryTest.java"), TEST);
    write(
        consumer().resolve("src/main/java/Desk.java"),
        DESK.formatted(readme("java", "Prompt support")));
    write(consumer().resolve("src/test/java/DeskTest.java"), DESK_TEST);

    maven(consumer(), "-Dmaven.repo.local=" + folder.resolve("local"), "test");
  }

  @Test
  void resolvesTheTestedVersions() throws Exception {
    Set<String> resolved = names(jars(classPath()));
    Set<String> tested = names(jars(System.getProperty("java.class.path")));
    assertThat(resolved).anyMatch(jar -> jar.startsWith("jackson-databind-"));
    resolved.removeIf(jar -> jar.startsWith("fermata-"));
    assertThat(tested).containsAll(resolved);
  }

  @Test
  void runsAsAModule() throws Exception {
    Path sources = folder.resolve("module");
    write(sources.resolve("module-info.java"), MODULE);
    write(
        sources.resolve("delivery/Delivery.java"),
        "package delivery;\n" + readme("java", "public final class Delivery"));
    write(sources.resolve("delivery/Main.java"), MAIN);
    String jars =
        jars(classPath()).stream()
            .filter(jar -> NO_MODULE.stream().noneMatch(jar.getFileName().toString()::startsWith))
            .map(Path::toString)
            .collect(Collectors.joining(File.pathSeparator));
    Path classes = folder.resolve("module-classes");
    jdk(
        "javac",
        "-nowarn",
        "-p",
        jars,
        "-d",
        classes.toString(),
        sources.resolve("module-info.java").toString(),
        sources.resolve("delivery/Delivery.java").toString(),
        sources.resolve("delivery/Main.java").toString());

    String modules = classes + File.pathSeparator + jars;
    String file = folder.resolve("module.db").toString();
    assertThat(jdk("java", "-p", modules, "-m", "delivery/delivery.Main", file))
        .contains("asked What would you like?")
        .contains("receipt paid 18 with key ");
    assertThat(jdk("java", "-p", modules, "-m", "delivery/delivery.Delivery", "graph", "order"))
        .startsWith("flowchart TD")
        .contains("asks dish");
  }

  @Test
  void runsTheFlowAndTheAgentOfTheReadme() {
    Path reports = consumer().resolve("target/surefire-reports");
    assertThat(List.of("DeliveryTest", "DeskTest"))
        .allSatisfy(
            test ->
                assertThat(reports.resolve(test + ".txt"))
                    .content()
                    .contains("Tests run: 1, Failures: 0, Errors: 0, Skipped: 0"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"flow", "agent", "persistence", "keyvalue", "session", "mcp", "cli", "testkit"})
  void findsTheSourceOfEveryClassAndThePageOfEveryPublicType(String module) throws IOException {
    Path folder = published().resolve("io/fermata/fermata-" + module);
    Set<String> sources;
    Set<String> documented;
    Set<String> pages;
    Set<String> classes;
    try (ZipFile jar = jar(folder, "-sources\\.jar")) {
      sources = entries(jar, ".java");
      documented = sources.stream().filter(name -> isPublic(jar, name)).collect(toSet());
    }
    try (ZipFile jar = jar(folder, "-javadoc\\.jar")) {
      assertThat(jar.getEntry("index.html")).isNotNull();
      pages = entries(jar, ".html");
    }
    try (ZipFile jar = jar(folder, "\\d\\.jar")) {
      classes = entries(jar, ".class");
    }
    classes.removeIf(name -> name.contains("$") || name.endsWith("-info"));
    assertThat(sources).hasSizeGreaterThan(5).containsAll(classes);
    assertThat(documented).isNotEmpty();
    assertThat(pages).containsAll(documented);
  }

  private static ZipFile jar(Path folder, String end) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      Path found =
          files
              .filter(file -> file.getFileName().toString().matches(".*" + end))
              .findFirst()
              .orElseThrow(() -> new AssertionError(folder + " has no " + end));
      return new ZipFile(found.toFile());
    }
  }

  /** The names of the entries that end so, without that end. */
  private static Set<String> entries(ZipFile jar, String end) {
    return jar.stream()
        .map(ZipEntry::getName)
        .filter(name -> name.endsWith(end))
        .map(name -> name.substring(0, name.length() - end.length()))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static boolean isPublic(ZipFile jar, String type) {
    try (InputStream source = jar.getInputStream(jar.getEntry(type + ".java"))) {
      String text = new String(source.readAllBytes(), StandardCharsets.UTF_8);
      String name = type.substring(type.lastIndexOf('/') + 1);
      return new Types.Source(name, "", false, text).isPublic();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  // --- the project ------------------------------------------------------------------------------

  /** What the README says to write, and JUnit for the test. */
  private static String dependencies() throws IOException {
    String junit =
        "<dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId>"
            + "<version>%s</version><scope>test</scope></dependency>\n</dependencies>";
    String said = readme("xml", "<dependencyManagement>");
    int end = said.lastIndexOf("</dependencies>");
    return said.substring(0, end)
        + junit.formatted(parent("<junit.version>([^<]+)<"))
        + said.substring(end + "</dependencies>".length());
  }

  private static String readme(String language, String part) {
    return Document.of("README.md").blocks().stream()
        .filter(block -> block.language().equals(language))
        .map(block -> String.join("\n", block.lines()))
        .filter(text -> text.contains(part))
        .findFirst()
        .orElseThrow();
  }

  private static String plugin(String name) throws IOException {
    String version = parent("<artifactId>" + name + "</artifactId>\\s*<version>([^<]+)<");
    return "<plugin><artifactId>%s</artifactId><version>%s</version></plugin>"
        .formatted(name, version);
  }

  private static String parent(String pattern) throws IOException {
    String pom = Files.readString(Document.ROOT.resolve("pom.xml"));
    Matcher found = Pattern.compile(pattern).matcher(pom);
    assertThat(found.find()).as(pattern).isTrue();
    return found.group(1);
  }

  private static void write(Path file, String text) throws IOException {
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  private static List<Path> jars(String classPath) {
    return Arrays.stream(classPath.split(File.pathSeparator))
        .filter(entry -> entry.endsWith(".jar"))
        .map(Path::of)
        .toList();
  }

  /** The names of the jars, which hold their versions. */
  private static Set<String> names(List<Path> jars) {
    return jars.stream()
        .map(jar -> jar.getFileName().toString())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static String jdk(String tool, String... arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", tool).toString());
    command.addAll(List.of(arguments));
    return run(folder, command);
  }

  private static void maven(Path directory, String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("mvn", "-B", "-q"));
    command.addAll(List.of(arguments));
    run(directory, command);
  }

  private static String run(Path directory, List<String> command) throws Exception {
    Path log = Files.createTempFile(folder, "command", ".log");
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile());
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
    Process process = builder.start();
    boolean ended = process.waitFor(30, TimeUnit.MINUTES);
    process.destroyForcibly();
    String said = Files.readString(log);
    assertThat(ended && process.exitValue() == 0).as(said).isTrue();
    return said;
  }
}
