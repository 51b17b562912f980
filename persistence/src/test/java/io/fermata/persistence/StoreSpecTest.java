package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class StoreSpecTest {

  @Test
  void memoryAndSqliteAreStores() {
    assertThat(Store.parse("memory")).hasToString("memory");
    assertThat(Store.parse("sqlite:fermata.db")).hasToString("sqlite:fermata.db");
    assertThat(Store.parse(" sqlite:/data/fermata.db ")).hasToString("sqlite:/data/fermata.db");
  }

  @Test
  @SuppressWarnings("NullAway") // null is refused
  void whatIsNullIsRefusedByName() {
    assertThatThrownBy(() -> Store.of(null)).hasMessage("source");
    assertThatThrownBy(() -> Store.sqlite(null)).hasMessage("file");
    assertThatThrownBy(() -> Store.parse(null)).hasMessage("spec");
    assertThatThrownBy(() -> Store.postgres(null)).hasMessage("address");
    assertThatThrownBy(() -> Store.postgres(null, "u", "p")).hasMessage("address");
    assertThatThrownBy(() -> Store.postgres("postgres://h/db", null, "p")).hasMessage("user");
    assertThatThrownBy(() -> Store.postgres("postgres://h/db", "u", null)).hasMessage("password");
    assertThatThrownBy(() -> Store.memory().backup(null)).hasMessage("file");
    assertThatThrownBy(() -> Store.memory().verify(null)).hasMessage("damage");
  }

  @ParameterizedTest
  @CsvSource({
    "redis:there, there is no such store",
    "fermata.db, there is no such store",
    "mysql://there/fermata, there is no such store",
    "sqlite:, it names no file",
    "sqlite::memory:, would lose every journal"
  })
  void anythingElseIsRefusedWithTheChoices(String spec, String reason) {
    assertThatThrownBy(() -> Store.parse(spec))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("\"" + spec + "\"", reason, "\"memory\"", "sqlite:fermata.db");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "postgresq://u:hidden@h/db",
        "Redis://:hidden@h",
        "waniwani:https://u:hidden@h",
        "waniwani:https://u:hidden@h/a b",
        "postgresq://u:hidden/hidden?hidden@h/db",
        "postgresq://u:pw@h:5432/db?password=pw@hidden",
        "postgresq://h:5432/db?password=pw@hidden&user=u"
      })
  void noPasswordIsShownOfAStoreThatIsRefused(String spec) {
    assertThatThrownBy(() -> StoreSpec.parse(spec, Map.of("WANIWANI_API_KEY", "k")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageNotContaining("hidden");
  }

  @Test
  void theEnvironmentNamesAStore() {
    assertThat(StoreSpec.fromEnvironment(Map.of("FERMATA_STORE", "sqlite:a.db")))
        .hasValueSatisfying(store -> assertThat(store).hasToString("sqlite:a.db"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"redis://host:6379/0", "rediss://host/0", "waniwani:https://kv.example"})
  void theAddressOfAModuleThatIsMissingIsRefusedWithTheArtifactToAdd(String spec) {
    assertThatThrownBy(() -> Store.parse(spec))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll(
            "\"" + spec + "\"", "io.fermata:fermata-keyvalue is not on the class path");
  }

  @Test
  void theVariableOfAModuleThatIsMissingIsRefusedUnlessAStoreIsNamed() {
    assertThatThrownBy(() -> StoreSpec.fromEnvironment(Map.of("WANIWANI_API_KEY", "k")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("WANIWANI_API_KEY", "add io.fermata:fermata-keyvalue");
    assertThat(
            StoreSpec.fromEnvironment(
                Map.of("WANIWANI_API_KEY", "k", "FERMATA_STORE", "sqlite:a.db")))
        .hasValueSatisfying(store -> assertThat(store).hasToString("sqlite:a.db"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "  "})
  void aBlankEnvironmentNamesNone(String blank) {
    assertThat(StoreSpec.fromEnvironment(Map.of("FERMATA_STORE", blank))).isEmpty();
    assertThat(StoreSpec.fromEnvironment(Map.of())).isEmpty();
  }
}
