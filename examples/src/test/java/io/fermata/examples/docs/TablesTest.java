package io.fermata.examples.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.agent.FlowState;
import io.fermata.agent.Hook;
import io.fermata.agent.state.StopCode;
import io.fermata.cli.Cli;
import io.fermata.examples.Main;
import io.fermata.examples.flows.QuoteFlow;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.record.RunPicture;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.http.RequestError;
import io.fermata.mcp.settings.PrincipalLimits;
import io.fermata.persistence.Store;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.key.HostError;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry.Gauge;
import io.fermata.session.observe.Telemetry.Refusal;
import io.fermata.session.observe.Telemetry.RunChange;
import io.fermata.session.observe.Telemetry.Start;
import io.fermata.session.telemetry.Meters;
import io.fermata.testkit.SessionProbe;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * Compares the tables of the documents with the code.
 *
 * <p>The text between {@code <!-- generated: name -->} and {@code <!-- end -->} is generated from
 * the code; {@code -Ddocs=write} updates it. A table after {@code <!-- names: name -->} is written
 * by hand, and the names in its first column are those of the code.
 */
class TablesTest {
  private static final Pattern GENERATED = Pattern.compile("<!-- generated: (.+) -->");
  private static final Pattern NAMES = Pattern.compile("<!-- names: (.+) -->");

  /** A line of a scrape: the name of the series, and its tags. */
  private static final Pattern SAMPLE = Pattern.compile("(?m)^(fermata_\\w+)(?:\\{(.*)})? ");

  private static final Pattern SERIES = Pattern.compile("fermata[_:][\\w:]+");
  private static final Pattern TAG = Pattern.compile("(\\w+)(?:=~?|!=)\"");
  private static final Pattern VALUE = Pattern.compile("(\\w+)=~?\"([^\"]+)\"");
  private static final Pattern RECORDED = Pattern.compile("- record: (\\S+)\\n +expr: (.+)\\n");
  private static final Pattern ALERT = Pattern.compile("- alert: (\\S+)\\n +expr: (.+)\\n");
  private static final Pattern GROUPED = Pattern.compile("by \\(([^)]+)\\)");

  /** The tags that Prometheus adds. */
  private static final Set<String> SCRAPED = Set.of("job", "instance");

  private static final Pattern CODE = Pattern.compile("`(\\w+)[^`]*`");
  private static final Pattern REFUSAL =
      Pattern.compile("(?:failure|refused|failed|ThreadException)\\(\\s*\"(\\w+)\"");
  private static final Pattern LITERAL = Pattern.compile("\"[^\"\\n]*\"");
  private static final Pattern VARIABLE = Pattern.compile("\\b(?:FERMATA|WANIWANI)(?:_[A-Z]+)+\\b");

  @TempDir private Path directory = Path.of("");
  private final Types types = Types.ofRepository();

  @Test
  void whatIsGeneratedIsUpToDate() throws Exception {
    Map<String, List<String>> tables = tables();
    Set<String> unused = new TreeSet<>(tables.keySet());
    for (Document document : Document.all()) {
      List<String> now = new ArrayList<>();
      boolean within = false;
      for (String line : document.lines()) {
        within = within && !line.equals("<!-- end -->");
        if (!within) {
          now.add(line);
        }
        Matcher generated = GENERATED.matcher(line);
        if (generated.matches()) {
          within = true;
          now.add("");
          now.addAll(named(tables, generated.group(1), document));
          now.add("");
          unused.remove(generated.group(1));
        }
      }
      if ("write".equals(System.getProperty("docs"))) {
        Files.write(document.file(), now);
      }
      List<String> differing = new ArrayList<>(now);
      differing.removeAll(written(document));
      assertThat(differing).as(document.path() + " lacks these (-Ddocs=write)").isEmpty();
      assertThat(written(document)).as(document.path() + " (-Ddocs=write)").hasSameSizeAs(now);
    }
    assertThat(unused).as("tables that no document has").isEmpty();
  }

  private static List<String> written(Document document) {
    return Document.of(document.path()).lines();
  }

  private static <T> T named(Map<String, T> all, String name, Document document) {
    T found = all.get(name);
    if (found == null) {
      throw new AssertionError(document.path() + " names " + name + "; choose " + all.keySet());
    }
    return found;
  }

  private Map<String, List<String>> tables() throws Exception {
    CommandSpec main = Cli.of("orders", host -> {}).commandLine().getCommandSpec();
    List<String> ofTheExamples = options(Main.cli().commandLine().getCommandSpec());
    Map<String, List<String>> tables = new TreeMap<>();
    tables.put("error codes", errors());
    tables.put("error codes of the host", errorsOfTheHost());
    tables.put("error codes of requests", errorsOfRequests());
    tables.put("settings", components(Settings.class, Settings.DEFAULT));
    tables.put("quotas", components(Settings.Quotas.class, Settings.Quotas.DEFAULT));
    tables.put("limits", components(Limits.class, Limits.DEFAULT));
    tables.put("principal limits", components(PrincipalLimits.class, PrincipalLimits.DEFAULT));
    tables.put("retention", components(Retention.class, Retention.DEFAULT));
    tables.put("meters", meters());
    tables.put("picture", picture());
    tables.put("commands", commands(main));
    tables.put("options", options(main));
    tables.put("options of the examples", without(ofTheExamples, options(main)));
    tables.put("exit codes", exitCodes(main));
    return tables;
  }

  private static List<String> table(String head, Stream<String> rows) {
    List<String> table = new ArrayList<>();
    table.add(head);
    table.add(head.replaceAll("[^|]+", "---"));
    rows.forEach(table::add);
    return table;
  }

  private static String row(String... cells) {
    return Stream.of(cells)
        .map(cell -> cell.replace("|", "\\|"))
        .collect(Collectors.joining(" | ", "| ", " |"));
  }

  private static List<String> errors() {
    return table(
        "| code | cause | repair |",
        Stream.of(ErrorCode.values())
            .map(error -> row(code(error.wireName()), error.cause(), error.repair())));
  }

  private static List<String> errorsOfTheHost() {
    return table(
        "| code | of | HTTP | cause | repair |",
        Stream.of(HostError.values())
            .sorted(Comparator.comparing(HostError::area))
            .map(
                error ->
                    row(
                        code(error.wireName()),
                        error.area(),
                        String.valueOf(error.status()),
                        error.cause(),
                        error.repair())));
  }

  private static List<String> errorsOfRequests() {
    return table(
        "| code | HTTP | cause | repair |",
        Stream.of(RequestError.values())
            .map(
                error ->
                    row(
                        code(error.wireName()),
                        String.valueOf(error.status()),
                        error.cause(),
                        error.repair())));
  }

  /** The components of a record, with their defaults and their Javadoc. */
  private List<String> components(Class<? extends Record> type, Record standard)
      throws ReflectiveOperationException {
    String source = types.main(type.getNestHost().getSimpleName()).text();
    List<String> rows = new ArrayList<>();
    for (RecordComponent component : type.getRecordComponents()) {
      Object value = component.getAccessor().invoke(standard);
      String name = component.getName();
      rows.add(row(code(name), text(value), meaning(source, name)));
    }
    return table("| name | default | meaning |", rows.stream());
  }

  private static String text(Object value) {
    if (value instanceof Duration time) {
      return time(time);
    } else if (value instanceof Integer number) {
      return String.format(Locale.ROOT, "%,d", number);
    } else if (value instanceof Double number) {
      return number.isInfinite() ? "unlimited" : number.toString();
    }
    return "see below";
  }

  private static String time(Duration time) {
    if (time.isZero()) {
      return "none";
    } else if (time.toDays() > 0) {
      return time.toDays() + " days";
    }
    return time.toSeconds() % 60 == 0 ? time.toMinutes() + " min" : time.toSeconds() + " s";
  }

  private static String meaning(String source, String component) {
    Pattern param =
        Pattern.compile("@param " + component + " (.*?)(?=\\n +\\* @|\\n +\\*/)", Pattern.DOTALL);
    Matcher found = param.matcher(source);
    assertThat(found.find()).as("Javadoc of the component " + component).isTrue();
    return plain(found.group(1));
  }

  private static String plain(String javadoc) {
    return javadoc
        .replaceAll("\\s*\\n +\\* *", " ")
        .replaceAll("\\{@(?:code|link(?:plain)?) ([^}]*)}", "`$1`");
  }

  private List<String> meters() throws Exception {
    SimpleMeterRegistry registry = new SimpleMeterRegistry();
    return measured(
        registry,
        () ->
            table(
                "| meter | kind | tags | what it measures |",
                registry.getMeters().stream()
                    .map(each -> each.getId())
                    .filter(id -> id.getName().startsWith("fermata."))
                    .map(TablesTest::meter)
                    .collect(Collectors.toCollection(TreeSet::new))
                    .stream()));
  }

  /** Reads the meters of a host that was called and evicted its session, and of its server. */
  private <T> T measured(MeterRegistry registry, Supplier<T> read) throws Exception {
    Meters meters = Meters.of(registry);
    meters.opened(ALONE);
    for (Meter rare : List.of(Meter.TOKENS, Meter.COST, Meter.STARTS, Meter.UNREADABLE)) {
      meters.measured(rare, 1, rare.tags());
    }
    Store store = Store.sqlite(directory.resolve("meters.db"));
    try (SessionProbe probe = quotes(store, host -> host.telemetry(meters));
        McpServer server = McpServer.serving(probe.host()).port(0).start()) {
      probe.start("wants a price", "name", "Ann", "email", "ann@acme.com").asks("companySize");
      get(server.endpoint());
      return read.get();
    }
  }

  @Test
  void theDashboardShowsMetersAndTagsThatThereAre() throws Exception {
    Map<String, Set<String>> there = series();
    String dashboard = Types.read(Document.ROOT.resolve("examples/deploy/grafana/fermata.json"));
    List<String> shown = Json.parse(dashboard).findValuesAsText("expr");
    assertThat(shown).hasSizeGreaterThan(20);
    for (String expression : shown) {
      assertThat(SERIES.matcher(expression).results()).as(expression).isNotEmpty();
      requireThere(expression, there);
    }
  }

  @Test
  void theAlertsAreAboutMetersTagsAndCodesThatThereAre() throws Exception {
    Map<String, Set<String>> there = series();
    String rules = Types.read(Document.ROOT.resolve("examples/deploy/prometheus/fermata.yml"));
    RECORDED
        .matcher(rules)
        .results()
        .forEach(
            rule -> {
              requireThere(rule.group(2), there);
              there.put(rule.group(1), grouped(rule.group(2)));
            });
    List<MatchResult> alerts = ALERT.matcher(rules).results().toList();
    assertThat(alerts).hasSizeGreaterThan(12);
    assertThat(alerts.size() + RECORDED.matcher(rules).results().count())
        .as("rules in the form that this test reads")
        .isEqualTo(Pattern.compile("(?m)^ +- ").matcher(rules).results().count() - 1);

    Map<String, Set<String>> values =
        Map.of(
            "code",
            codes(),
            "reason",
            lower(Refusal.values()),
            "change",
            lower(RunChange.values()),
            "outcome",
            lower(Start.values()));
    for (MatchResult alert : alerts) {
      String expression = alert.group(2);
      requireThere(expression, there);
      VALUE
          .matcher(expression)
          .results()
          .filter(tag -> values.containsKey(tag.group(1)))
          .forEach(
              tag ->
                  assertThat(values.get(tag.group(1)))
                      .as(expression)
                      .containsAll(List.of(tag.group(2).split("\\|", -1))));
    }
  }

  /** The series of a scrape, and their tags. */
  private Map<String, Set<String>> series() throws Exception {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    Map<String, Set<String>> there = new TreeMap<>();
    SAMPLE
        .matcher(measured(registry, registry::scrape))
        .results()
        .forEach(
            sample -> {
              Set<String> tags =
                  there.computeIfAbsent(sample.group(1), any -> new TreeSet<>(SCRAPED));
              TAG.matcher(String.valueOf(sample.group(2)))
                  .results()
                  .forEach(tag -> tags.add(tag.group(1)));
            });
    return there;
  }

  private static void requireThere(String expression, Map<String, Set<String>> there) {
    List<String> names =
        SERIES.matcher(expression).results().map(MatchResult::group).distinct().toList();
    assertThat(there.keySet()).as(expression).containsAll(names);
    Set<String> tags = grouped(expression);
    TAG.matcher(expression).results().forEach(tag -> tags.add(tag.group(1)));
    for (String name : names) {
      assertThat(there.get(name)).as(expression).containsAll(tags);
    }
  }

  private static Set<String> grouped(String expression) {
    Set<String> tags = new TreeSet<>();
    GROUPED
        .matcher(expression)
        .results()
        .forEach(by -> tags.addAll(List.of(by.group(1).split(", ", -1))));
    return tags;
  }

  private static Set<String> codes() {
    return Stream.concat(
            Stream.of(ErrorCode.values()).map(ErrorCode::wireName),
            Stream.of(HostError.values()).map(HostError::wireName))
        .collect(Collectors.toSet());
  }

  private static Set<String> lower(Enum<?>... all) {
    return Stream.of(all)
        .map(one -> one.name().toLowerCase(Locale.ROOT))
        .collect(Collectors.toSet());
  }

  /** A cluster of one host, as only its meters matter. */
  private static final List<Gauge> ALONE =
      Stream.of(Meter.values())
          .filter(Meter::clustered)
          .filter(meter -> meter.kind() != Meter.Kind.TIMER)
          .map(meter -> new Gauge(meter, meter.tags(), () -> 0))
          .toList();

  private static SessionProbe quotes(Store store, UnaryOperator<HostBuilder> more) {
    DisplayTool plans = DisplayTool.of("show_plans", "Plans", "Shows plans.", "<p>");
    return SessionProbe.of(QuoteFlow.create(), store, host -> more.apply(host.display(plans)));
  }

  /** A run of the quote as the command graph prints it. */
  private static List<String> picture() {
    try (SessionProbe probe = quotes(Store.memory(), host -> host)) {
      probe.start("wants a price", "name", "Ann", "email", "ann@acme.com").asks("companySize");
      String run = probe.reply().meta().path("fermata/run").path("runId").textValue();
      RunPicture drawn = new RunPicture(QuoteFlow.create());
      probe.host().journals().run("quote", run).replay(drawn).toCompletableFuture().join();
      List<String> lines = new ArrayList<>(List.of("```mermaid"));
      lines.addAll(drawn.picture().mermaid().lines().toList());
      lines.add("```");
      return lines;
    }
  }

  private static void get(URI endpoint) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(endpoint)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .POST(
                HttpRequest.BodyPublishers.ofString(
                    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"))
            .build();
    HttpClient.newHttpClient().send(request, BodyHandlers.discarding());
  }

  private static String meter(io.micrometer.core.instrument.Meter.Id id) {
    String tags =
        id.getTags().stream()
            .map(tag -> "`" + tag.getKey() + "`")
            .collect(Collectors.joining(", "));
    String kind = id.getType().name().toLowerCase(Locale.ROOT).replace("distribution_", "");
    return row("`" + id.getName() + "`", kind, tags, String.valueOf(id.getDescription()));
  }

  private static List<String> commands(CommandSpec main) {
    return table(
        "| command | what it does |",
        main.subcommands().values().stream()
            .map(CommandLine::getCommandSpec)
            .map(command -> row(code(usage(command)), text(command.usageMessage().description()))));
  }

  private static String usage(CommandSpec command) {
    return Stream.concat(
            Stream.of(command.name()),
            command.positionalParameters().stream().map(parameter -> parameter.paramLabel()))
        .collect(Collectors.joining(" "));
  }

  /** Each option once, with the commands that have it. */
  private static List<String> options(CommandSpec main) {
    Map<String, List<String>> commands = new LinkedHashMap<>();
    main.subcommands()
        .forEach(
            (name, command) -> {
              for (OptionSpec option : command.getCommandSpec().options()) {
                if (!option.usageHelp() && !option.versionHelp()) {
                  String said = row(code(option(option)), text(option.description()));
                  commands.computeIfAbsent(said, any -> new ArrayList<>()).add(name);
                }
              }
            });
    return table(
        "| option | what it does | of |",
        commands.entrySet().stream()
            .map(option -> option.getKey() + " " + String.join(", ", option.getValue()) + " |"));
  }

  /** The rows of a table that another one has not. */
  private static List<String> without(List<String> table, List<String> other) {
    List<String> head = table.subList(0, 2);
    return Stream.concat(head.stream(), table.stream().skip(2).filter(row -> !other.contains(row)))
        .toList();
  }

  private static String option(OptionSpec option) {
    return option.arity().max() == 0
        ? option.longestName()
        : option.longestName() + " " + option.paramLabel();
  }

  private static List<String> exitCodes(CommandSpec main) {
    return table(
        "| exit code | meaning |",
        main.usageMessage().exitCodeList().entrySet().stream()
            .map(code -> row(code.getKey(), code.getValue())));
  }

  private static String code(String text) {
    return "`" + text + "`";
  }

  private static String text(String[] description) {
    return String.join(" ", description).replace("<", "&lt;");
  }

  @Test
  void tablesByHandNameWhatThereIs() {
    Map<String, Set<String>> names = names();
    Set<String> unused = new TreeSet<>(names.keySet());
    for (Document document : Document.all()) {
      for (int i = 0; i < document.lines().size(); i++) {
        Matcher marker = NAMES.matcher(document.lines().get(i));
        if (marker.matches()) {
          String name = marker.group(1);
          assertThat(firstColumn(document, i + 1))
              .as("%s:%d, %s", document.path(), i + 1, name)
              .isEqualTo(named(names, name, document));
          unused.remove(name);
        }
      }
    }
    assertThat(unused).as("tables that no document has").isEmpty();
  }

  @Test
  void everyCodeThatAThreadRefusesWithIsInATable() {
    Set<String> codes =
        Stream.of("ThreadProgram", "ThreadJournals", "AgentThreads")
            .map(name -> types.main(name).text())
            .flatMap(text -> REFUSAL.matcher(text).results())
            .map(refusal -> refusal.group(1))
            .collect(Collectors.toCollection(TreeSet::new));
    codes.add(StopCode.STEP_ERROR);
    assertThat(codes).contains("no_open_question");
    codes.removeIf(code -> HostError.named(code) != null);
    assertThat(codes).as("codes that are in no table").isEmpty();
  }

  private static Set<String> firstColumn(Document document, int line) {
    Set<String> names = new TreeSet<>();
    int row = line;
    while (!document.lines().get(row).startsWith("|")) {
      row++;
    }
    for (row += 2; document.lines().get(row).startsWith("|"); row++) {
      String first = document.lines().get(row).split("(?<!\\\\)\\|", -1)[1];
      CODE.matcher(first).results().map(found -> found.group(1)).forEach(names::add);
    }
    return names;
  }

  private Map<String, Set<String>> names() {
    Map<String, Set<String>> names = new TreeMap<>();
    names.put("stop codes", constants(StopCode.class));
    names.put("hooks", methods(Hook.class, method -> Modifier.isStatic(method.getModifiers())));
    names.put("flow state", methods(FlowState.class, method -> true));
    names.put("recorder", methods(Recorder.class, Method::isDefault));
    Set<String> main = variables(source -> !isExample(source));
    Set<String> ofTheExamples = variables(TablesTest::isExample);
    ofTheExamples.removeAll(main);
    names.put("environment", main);
    names.put("environment of the examples", ofTheExamples);
    return names;
  }

  private static Set<String> methods(Class<?> type, Predicate<Method> which) {
    return Stream.of(type.getDeclaredMethods())
        .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
        .filter(which)
        .map(Method::getName)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Set<String> constants(Class<?> type) {
    Set<String> values = new TreeSet<>();
    for (Field field : type.getFields()) {
      try {
        values.add(String.valueOf(field.get(null)));
      } catch (IllegalAccessException e) {
        throw new AssertionError(field.toString(), e);
      }
    }
    return values;
  }

  private static boolean isExample(Types.Source source) {
    return source.pack().startsWith("io.fermata.examples");
  }

  /** The environment variables that main code reads. */
  private Set<String> variables(Predicate<Types.Source> which) {
    return types
        .all()
        .filter(source -> !source.test())
        .filter(which)
        .map(Types.Source::text)
        .flatMap(text -> LITERAL.matcher(text).results())
        .flatMap(literal -> VARIABLE.matcher(literal.group()).results())
        .map(MatchResult::group)
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
