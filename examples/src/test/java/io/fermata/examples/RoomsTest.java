package io.fermata.examples;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Dependencies between modules point down only. */
@Tag("slow")
class RoomsTest {
  private static final JavaClasses HOUSE =
      new ClassFileImporter()
          .withImportOption(location -> !location.contains("/test-classes/"))
          .importPackages("io.fermata");

  /** A source file of a module, with one class. */
  private static final Pattern MAIN_CLASS =
      Pattern.compile(".*[/\\\\]src[/\\\\]main[/\\\\]java[/\\\\].*[/\\\\]\\w+\\.java");

  /** A number in a format; {@code %s} has the digits 0 to 9 everywhere. */
  private static final Pattern NUMBER = Pattern.compile("%[-+#,.0-9$]*[dfeEgG]");

  private static final String MAKE_THREADS =
      "java\\.util\\.Timer|java\\.util\\.concurrent\\.(Executor.*|.*Executor.*|ForkJoin.*)";
  private static final String[] WAITS_FOR_OTHERS = {
    "io.fermata.agent.model..", "io.fermata.agent.mcp.."
  };
  private static final String USE_THREADS =
      "supplyAsync|runAsync|orTimeout|completeOnTimeout|delayedExecutor";

  private static void knowsNothingOf(String room, String... others) {
    noClasses()
        .that()
        .resideInAPackage(room)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(others)
        .check(HOUSE);
  }

  @Test
  void theFlowKnowsNoOtherRoomAndNoActor() {
    knowsNothingOf(
        "io.fermata.flow..",
        "io.fermata.agent..",
        "io.fermata.session..",
        "io.fermata.mcp..",
        "io.fermata.cli..",
        "io.fermata.testkit..",
        "io.fermata.persistence..",
        "io.fermata.examples..",
        "org.apache.pekko..",
        "io.vertx..");
  }

  /** Code that reads or writes JSON names this exception, which does nothing by itself. */
  @Test
  void theFlowDoesNoInputOrOutput() {
    noClasses()
        .that()
        .resideInAPackage("io.fermata.flow..")
        .should()
        .dependOnClassesThat(
            resideInAnyPackage("java.io..", "java.nio.file..", "java.nio.channels..", "java.net..")
                .and(not(type(IOException.class))))
        .check(HOUSE);
  }

  private static void readsNoClock(String room, String... except) {
    noClasses()
        .that()
        .resideInAPackage(room)
        .and()
        .resideOutsideOfPackages(except)
        .should()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .callMethod(System.class, "nanoTime")
        .orShould()
        .callMethod(Instant.class, "now")
        .orShould()
        .callMethod(LocalDate.class, "now")
        .orShould()
        .callMethod(LocalDateTime.class, "now")
        .orShould()
        .dependOnClassesThat()
        .areAssignableTo(Clock.class)
        .check(HOUSE);
  }

  @Test
  void theFlowStartsNoThread() {
    noClasses()
        .that()
        .resideInAPackage("io.fermata.flow..")
        .should()
        .dependOnClassesThat()
        .haveNameMatching("java\\.lang\\.Thread|" + MAKE_THREADS)
        .orShould()
        .callMethodWhere(target(nameMatching(USE_THREADS)))
        .check(HOUSE);
  }

  @Test
  void theFlowReadsNoClock() {
    readsNoClock("io.fermata.flow..");
  }

  @Test
  void agentsKnowTheFlowAlone() {
    knowsNothingOf(
        "io.fermata.agent..",
        "io.fermata.session..",
        "io.fermata.persistence..",
        "io.fermata.mcp..",
        "io.fermata.cli..",
        "io.fermata.testkit..",
        "io.fermata.examples..",
        "org.apache.pekko..",
        "io.vertx..");
  }

  /** Models and the clients of tool servers wait for other systems, as their packages say. */
  @Test
  void agentsStartNoThread() {
    noClasses()
        .that()
        .resideInAPackage("io.fermata.agent..")
        .and()
        .resideOutsideOfPackages(WAITS_FOR_OTHERS)
        .should()
        .dependOnClassesThat()
        .haveNameMatching(MAKE_THREADS)
        .orShould()
        .callMethod(Thread.class, "start")
        .orShould()
        .callMethodWhere(target(nameMatching(USE_THREADS)))
        .check(HOUSE);
  }

  /** Time is read through Outside only. */
  @Test
  void agentsReadNoClock() {
    readsNoClock("io.fermata.agent..", WAITS_FOR_OTHERS);
  }

  @Test
  void theModelsKnowNothingOfAgents() {
    noClasses()
        .that()
        .resideInAPackage("io.fermata.agent.model..")
        .should()
        .dependOnClassesThat(
            resideInAnyPackage("io.fermata.agent..")
                .and(not(resideInAnyPackage("io.fermata.agent.model.."))))
        .check(HOUSE);
    knowsNothingOf(
        "io.fermata.agent.model..",
        "io.fermata.flow..",
        "io.fermata.session..",
        "io.fermata.persistence..",
        "io.fermata.mcp..",
        "io.fermata.cli..",
        "io.fermata.testkit..",
        "io.fermata.examples..");
  }

  @Test
  void persistenceKnowsNoFlow() {
    knowsNothingOf(
        "io.fermata.persistence..",
        "io.fermata.flow..",
        "io.fermata.agent..",
        "io.fermata.session..",
        "io.fermata.mcp..",
        "io.fermata.cli..",
        "io.fermata.testkit..",
        "io.fermata.examples..");
  }

  @Test
  void theSessionKnowsNoTransport() {
    knowsNothingOf(
        "io.fermata.session..",
        "io.fermata.mcp..",
        "io.fermata.cli..",
        "io.fermata.testkit..",
        "io.fermata.examples..",
        "io.vertx..",
        "java.net..");
  }

  @Test
  void onlyTelemetryKnowsWhatMetersAndTraces() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.fermata.session.telemetry..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.opentelemetry..")
        .check(HOUSE);
    noClasses()
        .that()
        .resideOutsideOfPackages("io.fermata.session.telemetry..", "io.fermata.cli.telemetry..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.micrometer..")
        .check(HOUSE);
    knowsNothingOf("io.fermata.session.telemetry..", "org.apache.pekko..");
    noClasses()
        .that()
        .resideInAPackage("io.fermata.session..")
        .and()
        .resideOutsideOfPackage("io.fermata.session.telemetry..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.fermata.session.telemetry..")
        .check(HOUSE);
  }

  @Test
  void theTransportKnowsNoStoreAndNoActor() {
    knowsNothingOf(
        "io.fermata.mcp..",
        "io.fermata.persistence..",
        "io.fermata.cli..",
        "io.fermata.testkit..",
        "io.fermata.examples..",
        "org.apache.pekko..");
  }

  @Test
  void theCommandLineUsesOnlyWhatUsersMay() {
    knowsNothingOf(
        "io.fermata.cli..",
        "io.fermata.testkit..",
        "io.fermata.examples..",
        "org.apache.pekko..",
        "io.vertx..");
  }

  @Test
  void theTestkitKnowsNoTransport() {
    knowsNothingOf(
        "io.fermata.testkit..", "io.fermata.mcp..", "io.fermata.cli..", "io.fermata.examples..");
  }

  @Test
  void theExamplesUseOnlyWhatUsersMay() {
    knowsNothingOf("io.fermata.examples..", "org.apache.pekko..", "io.vertx..");
  }

  /** So a name leads to one class, in whatever module it is searched for. */
  @Test
  void noTwoTopLevelClassesShareASimpleName() throws IOException {
    Map<String, List<String>> files = new TreeMap<>();
    try (Stream<Path> all = Files.walk(Path.of("..").toAbsolutePath().normalize())) {
      all.map(Path::toString)
          .filter(MAIN_CLASS.asMatchPredicate())
          .forEach(
              file ->
                  files
                      .computeIfAbsent(
                          file.substring(file.lastIndexOf(File.separator) + 1),
                          n -> new ArrayList<>())
                      .add(file));
    }
    assertThat(files).hasSizeGreaterThan(700);
    files.values().removeIf(same -> same.size() == 1);
    assertThat(files).isEmpty();
  }

  /** A database and a client read digits that not every language writes. */
  @Test
  void noNumberIsFormattedInTheLanguageOfTheMachine() throws IOException {
    List<String> localized = new ArrayList<>();
    try (Stream<Path> all = Files.walk(Path.of("..").toAbsolutePath().normalize())) {
      for (Path file : all.filter(RoomsTest::isProduct).toList()) {
        Files.readAllLines(file).stream()
            .filter(line -> NUMBER.matcher(line).find() && !line.contains("Locale."))
            .forEach(line -> localized.add(file.getFileName() + ": " + line.strip()));
      }
    }
    assertThat(localized).isEmpty();
  }

  private static boolean isProduct(Path file) {
    boolean measures = file.toString().contains(Path.of("fermata", "bench").toString());
    return MAIN_CLASS.matcher(file.toString()).matches() && !measures;
  }

  @Test
  void noTwoPackagesNeedEachOther() {
    slices().matching("io.fermata.(**)").should().beFreeOfCycles().check(HOUSE);
  }
}
