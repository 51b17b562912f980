package io.fermata.persistence;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.fermata.layers.Layers;
import java.time.Instant;
import java.time.temporal.TemporalAmount;
import org.junit.jupiter.api.Test;

/** The packages of this module and the order they stand in. */
class LayersTest {
  private static final Layers LAYERS =
      Layers.of(
          "io.fermata.persistence",
          "io.fermata.persistence.directory",
          "io.fermata.persistence.spi",
          "io.fermata.persistence.pekko",
          "io.fermata.persistence.memory",
          "io.fermata.persistence.sql",
          "io.fermata.persistence.postgres",
          "io.fermata.persistence.sqlite",
          "io.fermata.persistence");

  @Test
  void noTwoPackagesNeedEachOther() {
    LAYERS.haveNoCycles();
  }

  @Test
  void eachPackageUsesOnlyThoseBelowIt() {
    LAYERS.dependDownwardsOnly();
  }

  @Test
  void noPackageIsLarge() {
    LAYERS.areSmall();
  }

  /** A clock that is set back would lengthen it. */
  @Test
  void noWaitIsMeasuredByTheWallClock() {
    noClasses()
        .should()
        .callMethod(Instant.class, "plus", TemporalAmount.class)
        .orShould()
        .callMethod(Instant.class, "isAfter", Instant.class)
        .orShould()
        .callMethod(Instant.class, "isBefore", Instant.class)
        .check(
            new ClassFileImporter()
                .withImportOption(Layers.MAIN)
                .importPackages("io.fermata.persistence"));
  }

  @Test
  void noConstructorIsLong() {
    LAYERS.haveShortConstructors();
  }
}
