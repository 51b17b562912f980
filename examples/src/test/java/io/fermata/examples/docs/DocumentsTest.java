package io.fermata.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.Agent;
import io.fermata.agent.Budget;
import io.fermata.agent.Compaction;
import io.fermata.agent.FlowTool;
import io.fermata.agent.Handoff;
import io.fermata.agent.Participant;
import io.fermata.agent.Prompt;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.SubAgent;
import io.fermata.agent.Tool;
import io.fermata.agent.mcp.McpTools;
import io.fermata.agent.model.Model;
import io.fermata.cli.Application;
import io.fermata.cli.Chat;
import io.fermata.cli.Cli;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.ForEach;
import io.fermata.flow.Migration;
import io.fermata.flow.Mount;
import io.fermata.flow.QuestionOptions;
import io.fermata.flow.Questions;
import io.fermata.flow.WidgetOptions;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.Run;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.route.Branches;
import io.fermata.flow.route.Condition;
import io.fermata.flow.route.Decision;
import io.fermata.flow.route.Reducer;
import io.fermata.flow.route.StateReads;
import io.fermata.mcp.McpServerBuilder;
import io.fermata.mcp.feature.McpCall;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.settings.OAuth;
import io.fermata.persistence.Store;
import io.fermata.session.ExportedJournal;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.Journals;
import io.fermata.session.StoredJournal;
import io.fermata.session.StoredRun;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Schedule;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.WidgetPage;
import io.fermata.testkit.FlowProbe;
import io.fermata.testkit.ScriptedModel;
import io.fermata.testkit.SessionProbe;
import io.fermata.testkit.Turn;
import io.fermata.testkit.eval.EvalCase;
import io.fermata.testkit.eval.EvalJudge;
import io.fermata.testkit.eval.EvalReport;
import io.fermata.testkit.eval.EvalRun;
import io.fermata.testkit.eval.EvalUser;
import io.fermata.testkit.eval.EvalVariant;
import io.fermata.testkit.eval.Evaluation;
import io.fermata.testkit.eval.ScriptedUser;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Checks that what documents name exists, that what users may call is documented, and that
 * documents are short.
 */
class DocumentsTest {
  private static final RecordComponent[] NO_COMPONENTS = {};
  private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
  private static final Pattern HEADING = Pattern.compile("#+ (.+)");
  private static final Pattern CODE = Pattern.compile("`([^`]+)`");

  /** What a document says of the packages of its room. */
  private static final Pattern PACKAGES =
      Pattern.compile(
          "^\\*\\*Packages\\*\\* of `(?<base>[\\w.]+)`, which itself has (?<own>[^:]+): (?<others>.+)");

  private static final Pattern PACKAGE = Pattern.compile("`([a-z]+)` \\(([^)]+)\\)");
  private static final Pattern CHOSEN = Pattern.compile("-Dtest='?([\\w,]+)");
  private static final Pattern TYPE =
      Pattern.compile("(?<![\\w.@/<-])([A-Z][a-z0-9]+\\w*)(?:\\.([a-z]\\w*))?(?![\\w-])");

  /** The walk of one call: how many files it names, and its numbered steps. */
  private static final Pattern WALK =
      Pattern.compile(
          "## The walk of one call\n.*? (?<files>\\d+) files .*?\n(?<steps>1\\. .*?)\n\n",
          Pattern.DOTALL);

  private static final Pattern METHOD = Pattern.compile("[a-z]\\w{24,}");

  /** Words that look like Java types. */
  private static final Set<String> OTHER_WORDS =
      Set.of(
          "Accept",
          "Ann",
          "Authorization",
          "Bearer",
          "Host",
          "Idempotency",
          "Location",
          "Origin",
          "Retry",
          "Logback",
          "Maven",
          "MemorySaver");

  /**
   * The types with which users write flows, agents, hosts, servers and tests, and the documents
   * that teach them.
   */
  private static final Map<String, List<Class<?>>> TAUGHT =
      Map.of(
          "runtime/flow/README.md",
          List.of(
              FlowBuilder.class,
              EffectOptions.class,
              Questions.class,
              QuestionOptions.class,
              WidgetOptions.class,
              Decision.class,
              Branches.class,
              ForEach.class,
              Mount.class,
              Migration.class,
              Condition.class,
              StateReads.class,
              Reducer.class,
              Verdict.class,
              Run.class),
          "runtime/agent/README.md",
          List.of(
              Agent.class,
              Participant.class,
              Prompt.class,
              Tool.class,
              FlowTool.class,
              SubAgent.class,
              Handoff.class,
              ScheduledHandler.class,
              Budget.class,
              Compaction.class,
              Model.class,
              McpTools.class),
          "runtime/session/README.md",
          List.of(
              Fermata.class,
              Journals.class,
              StoredJournal.class,
              StoredRun.class,
              ExportedJournal.class,
              HostBuilder.class,
              RunQuery.class,
              Schedule.class,
              Threads.class),
          "runtime/mcp/README.md",
          List.of(
              McpServerBuilder.class,
              McpTool.class,
              McpCall.class,
              OAuth.class,
              DisplayTool.class,
              WidgetPage.class),
          "runtime/testkit/README.md",
          List.of(
              FlowProbe.class,
              FlowProbe.class.getSuperclass(),
              SessionProbe.class,
              ScriptedModel.class,
              ScriptedModel.class.getSuperclass(),
              Turn.class,
              Evaluation.class,
              EvalCase.class,
              EvalVariant.class,
              EvalUser.class,
              ScriptedUser.class,
              EvalJudge.class,
              EvalRun.class,
              EvalReport.class),
          "runtime/cli/README.md",
          List.of(Cli.class, Application.class, Chat.class),
          "persistence/README.md",
          List.of(Store.class));

  private final Types types = Types.ofRepository();

  @Test
  void everyLinkLeadsSomewhere() throws IOException {
    List<String> broken = new ArrayList<>();
    for (Document document : Document.all()) {
      List<String> prose = document.prose();
      for (int i = 0; i < prose.size(); i++) {
        for (MatchResult link : LINK.matcher(prose.get(i)).results().toList()) {
          if (!leads(document, link.group(1))) {
            broken.add("%s:%d: %s".formatted(document.path(), i + 1, link.group(1)));
          }
        }
      }
    }
    assertThat(broken).isEmpty();
  }

  private static boolean leads(Document document, String link) throws IOException {
    if (URI.create(link).isAbsolute()) {
      return true;
    }
    String[] parts = link.split("#", 2);
    Path file = parts[0].isEmpty() ? document.file() : document.file().resolveSibling(parts[0]);
    if (!Files.exists(file)) {
      return false;
    }
    if (parts.length == 1) {
      return true;
    }
    Document target = new Document(link, Files.readAllLines(file));
    return target.prose().stream()
        .map(HEADING::matcher)
        .filter(Matcher::matches)
        .anyMatch(heading -> anchor(heading.group(1)).equals(parts[1]));
  }

  private static String anchor(String heading) {
    return heading.toLowerCase(Locale.ROOT).replaceAll("[^\\w -]", "").replace(' ', '-');
  }

  /** Without the option Maven runs none of its tests, and succeeds. */
  @Test
  void everyCommandForATestThatOnlyCiRunsIncludesItsTags() {
    List<String> tagged = new ArrayList<>();
    for (Document document : Document.all()) {
      for (String line : document.lines()) {
        for (MatchResult chosen : CHOSEN.matcher(line).results().toList()) {
          for (String test : chosen.group(1).split(",", -1)) {
            if (types.named(test).stream().anyMatch(DocumentsTest::onlyCiRuns)) {
              assertThat(line).contains("-Dexcluded.groups=none");
              tagged.add(test);
            }
          }
        }
      }
    }
    assertThat(tagged).contains("CrashTest", "ClusterCrashTest");
  }

  private static boolean onlyCiRuns(Types.Source source) {
    return Pattern.compile(
            "@Tag\\(\"(?:tools|long|faults)\"\\)[^{;]*class " + source.name() + "\\b")
        .matcher(source.text())
        .find();
  }

  @Test
  void everyTypeAndTestThatIsNamedIsThere() throws IOException {
    Set<String> others = othersTypes();
    List<String> missing = new ArrayList<>();
    for (Document document : Document.all()) {
      List<String> prose = document.prose();
      for (int i = 0; i < prose.size(); i++) {
        for (MatchResult code : CODE.matcher(prose.get(i)).results().toList()) {
          for (String name : missing(code.group(1), others)) {
            missing.add("%s:%d: %s".formatted(document.path(), i + 1, name));
          }
        }
      }
    }
    assertThat(missing).isEmpty();
  }

  /** A type of the project with the named member, or a type of a library. */
  private List<String> missing(String code, Set<String> others) {
    List<String> missing = new ArrayList<>();
    for (MatchResult named : TYPE.matcher(code).results().toList()) {
      String type = named.group(1);
      String member = named.group(2);
      List<Types.Source> sources = types.named(type);
      boolean there =
          sources.isEmpty()
              ? others.contains(type) || OTHER_WORDS.contains(type) || nested(type)
              : member == null || sources.stream().anyMatch(source -> source.has(member));
      if (!there) {
        missing.add(named.group());
      }
    }
    // A name this long is a test's, in a list after the name of its class.
    if (METHOD.matcher(code).matches() && types.all().noneMatch(source -> source.has(code))) {
      missing.add(code);
    }
    return missing;
  }

  @Test
  void everyTypeIsInThePackageThatIsSaidToHaveIt() {
    List<String> elsewhere = new ArrayList<>();
    int lines = 0;
    for (Document document : Document.all()) {
      for (String line : document.prose()) {
        Matcher packages = PACKAGES.matcher(line);
        if (packages.find()) {
          lines++;
          String base = packages.group("base");
          elsewhere.addAll(elsewhere(base, packages.group("own")));
          PACKAGE
              .matcher(packages.group("others"))
              .results()
              .forEach(p -> elsewhere.addAll(elsewhere(base + "." + p.group(1), p.group(2))));
        }
      }
    }
    assertThat(elsewhere).isEmpty();
    assertThat(lines).isGreaterThan(3);
  }

  /** The types in a list that a package does not have. */
  private List<String> elsewhere(String pack, String list) {
    return CODE.matcher(list)
        .results()
        .map(type -> type.group(1))
        .filter(type -> types.named(type).stream().noneMatch(s -> s.pack().equals(pack)))
        .map(type -> pack + "." + type)
        .toList();
  }

  private boolean nested(String type) {
    Pattern declaration = Pattern.compile("(class|record|enum|interface) " + type + "\\b");
    return types
        .all()
        .map(Types.Source::text)
        .anyMatch(text -> text.contains(type) && declaration.matcher(text).find());
  }

  /** The simple names of all types of the JDK and of the libraries. */
  private static Set<String> othersTypes() throws IOException {
    Set<String> names = new HashSet<>();
    Path modules = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules");
    try (Stream<Path> files = Files.walk(modules)) {
      files.map(Path::toString).forEach(path -> add(path, names));
    }
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      if (entry.endsWith(".jar")) {
        try (JarFile jar = new JarFile(entry)) {
          jar.stream().forEach(file -> add(file.getName(), names));
        }
      }
    }
    return names;
  }

  private static void add(String path, Set<String> names) {
    if (path.endsWith(".class")) {
      String name = path.substring(path.lastIndexOf('/') + 1, path.length() - ".class".length());
      names.add(name.substring(name.lastIndexOf('$') + 1));
    }
  }

  /** Public only for other packages of Fermata, and of no use to authors. */
  private static final Set<String> BETWEEN_PACKAGES =
      Set.of(
          "McpTool.atOnce",
          "McpTool.visibility",
          "OAuth.scopesIn",
          "EffectOptions.policy",
          "FlowTool.wrong",
          "Decision.build",
          "Decision.complete",
          "Branches.build",
          "Branches.complete",
          "Agent.parentHooks",
          "Prompt.includesChat",
          "Prompt.includesPastTools",
          "Prompt.parallel",
          "Prompt.parts",
          "Fermata.bus",
          "FlowTool.asJob",
          "FlowTool.mapped",
          "FlowTool.sameWork");

  @Test
  void whatUsersMayCallIsTaught() {
    List<String> missing = new ArrayList<>();
    TAUGHT.forEach(
        (path, taught) -> {
          String text = String.join("\n", Document.of(path).lines());
          for (Class<?> type : taught) {
            for (String method : methods(type)) {
              String name = type.getSimpleName() + "." + method;
              if (!BETWEEN_PACKAGES.contains(name)
                  && !Pattern.compile("\\b" + method + "\\b").matcher(text).find()) {
                missing.add(path + ": " + name);
              }
            }
          }
        });
    assertThat(missing).isEmpty();
  }

  private static Set<String> methods(Class<?> type) {
    Set<String> inherited = Set.of("equals", "hashCode", "toString", "close");
    RecordComponent[] components = type.isRecord() ? type.getRecordComponents() : NO_COMPONENTS;
    Set<String> parts =
        Stream.of(components).map(RecordComponent::getName).collect(Collectors.toSet());
    return Stream.of(type.getDeclaredMethods())
        .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
        .map(Method::getName)
        .filter(name -> !inherited.contains(name) && !parts.contains(name))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  @Test
  void theWalkOfACallCountsItsFiles() throws IOException {
    String contributing = Files.readString(Document.of("CONTRIBUTING.md").file());
    Matcher walk = WALK.matcher(contributing);
    assertThat(walk.find()).isTrue();
    Set<String> files = new TreeSet<>();
    CODE.matcher(walk.group("steps"))
        .results()
        .map(name -> name.group(1))
        .filter(name -> Character.isUpperCase(name.charAt(0)))
        .forEach(files::add);
    assertThat(files).hasSize(Integer.parseInt(walk.group("files")));
  }

  @Test
  void theFirstOnesAreShort() throws IOException {
    assertThat(Document.of("README.md").lines()).hasSizeLessThanOrEqualTo(200);
    assertThat(Files.size(Document.of("CONTRIBUTING.md").file())).isLessThanOrEqualTo(10 * 1024);
  }
}
