package io.fermata.flow.schema;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.module.Configuration;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.spi.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The state of an author whose project is a module. */
class ClosedModuleTest {
  private static final String RECORDS =
      """
      package shop;
      public final class Shop {
        record Driver(String name) {}
        record Order(String dish, Driver driver) {}
      }
      """;

  @TempDir private Path folder = Path.of("");

  @Test
  void aStateInAClosedPackageIsADefectThatNamesTheLineToAdd() throws Exception {
    StateSchema<?> schema = new StateSchema<>(order("module shop {}"));

    assertThat(schema.defects())
        .containsExactly(
            "State Order cannot be read, as its module shop does not open its package; declare in"
                + " module-info.java: opens shop to com.fasterxml.jackson.databind");
  }

  @Test
  void argumentsInAClosedPackageAreRefused() {
    assertThatThrownBy(() -> ArgumentSchema.of(order("module shop {}")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("opens shop to com.fasterxml.jackson.databind");
  }

  @Test
  void aStateInAnOpenPackageIsFine() throws Exception {
    assertThat(new StateSchema<>(order("module shop { opens shop; }")).defects()).isEmpty();
  }

  @SuppressWarnings("unchecked")
  private Class<? extends Record> order(String module) throws Exception {
    Path sources = Files.createDirectories(folder.resolve("sources"));
    Path info = Files.writeString(sources.resolve("module-info.java"), module);
    Path records = Files.writeString(sources.resolve("Shop.java"), RECORDS);
    Path classes = folder.resolve("classes");
    int exit =
        ToolProvider.findFirst("javac")
            .orElseThrow()
            .run(
                System.out,
                System.err,
                "-d",
                classes.toString(),
                info.toString(),
                records.toString());
    assertThat(exit).isZero();
    ModuleLayer boot = ModuleLayer.boot();
    Configuration configuration =
        boot.configuration().resolve(ModuleFinder.of(classes), ModuleFinder.of(), Set.of("shop"));
    ClassLoader loader = getClass().getClassLoader();
    return (Class<? extends Record>)
        boot.defineModulesWithOneLoader(configuration, loader)
            .findLoader("shop")
            .loadClass("shop.Shop$Order");
  }
}
