package io.fermata.persistence.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.Store;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What an address says, and what is shown of it. */
final class PostgresAddressTest {

  private static PostgresAddress address(String text) {
    return PostgresAddress.parse(text, Map.of());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ' ',
      value = {
        "postgres://ann:pw@there:5433/db?sslmode=require jdbc:postgresql://there:5433/db?sslmode=require",
        "postgresql://ann:pw@there/db jdbc:postgresql://there/db",
        "postgres://ann:pw@one:1,two:2/db jdbc:postgresql://one:1,two:2/db",
        "postgres://ann:pw@[fe80::1%eth0]:1/db jdbc:postgresql://[fe80::1%eth0]:1/db",
        "jdbc:postgresql://there/db?user=ann&password=pw jdbc:postgresql://there/db",
        "postgres:db?user=ann&password=pw&connections=3&unsafe=fsync jdbc:postgresql:db"
      })
  void everyFormBecomesThatOfTheDriverWithUserAndPasswordApart(String text, String url) {
    PostgresAddress address = address(text);
    assertThat(address.url()).isEqualTo(url);
    assertThat(address.user()).isEqualTo("ann");
    assertThat(address.password()).isEqualTo("pw");
  }

  /** A stand-by can be read, so it would be used until its first write fails. */
  @ParameterizedTest
  @CsvSource({
    "postgres://one/db, any",
    "'postgres://one,two/db', primary",
    "'postgres://one:1,two:2/db?targetServerType=preferPrimary', preferPrimary"
  })
  void ofSeveralServersThePrimaryIsUsed(String text, String target) {
    assertThat(PostgresSource.forClaim(address(text)).getTargetServerType()).isEqualTo(target);
  }

  @Test
  void whatIsShownHoldsNoPasswordAndCanBeReadAgain() {
    PostgresAddress address =
        address(
            "postgres://a%40b:p%3Aw@there/db?currentSchema=s&sslpassword=key&connections=3&unsafe=fsync");
    assertThat(address.user()).isEqualTo("a@b");
    assertThat(address.password()).isEqualTo("p:w");
    assertThat(address.shown())
        .isEqualTo("postgres://a%40b@there/db?currentSchema=s&connections=3&unsafe=fsync");
    assertThat(address(address.shown()).unsafe()).containsExactly("fsync");
    assertThat(address(address.shown()).url())
        .isEqualTo("jdbc:postgresql://there/db?currentSchema=s");
    assertThat(Store.postgres("postgres://there/db", "ann", "pw"))
        .hasToString("postgres://ann@there/db");
  }

  @Test
  void theEnvironmentSaysWhatTheAddressLeavesOut() {
    Map<String, String> environment = Map.of("PGUSER", "bob", "PGPASSWORD", "secret");
    PostgresAddress address = PostgresAddress.parse("postgres://there/db", environment);
    assertThat(address.user()).isEqualTo("bob");
    assertThat(address.password()).isEqualTo("secret");
    assertThat(PostgresAddress.parse("postgres://ann:pw@there/db", environment).user())
        .isEqualTo("ann");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "postgres://ann:hidden@there:port/db",
        "postgres://ann:hidden@there/db?connections=0",
        "postgres://there/db?password=hidden&connections=many"
      })
  void anAddressThatCannotBeReadIsRefusedWithoutItsPassword(String text) {
    assertThatThrownBy(() -> Store.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("there", "cannot be used", "write it like postgres://")
        .hasMessageNotContaining("hidden");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "postgres://ann:p/hidden@there/db",
        "postgres://ann:5432/hidden@there/db",
        "postgres://ann:5432?hidden@there/db",
        "postgres://ann:pw@5432/hidden@there/db",
        "postgres://there:5432/db?password=pw@hidden"
      })
  void whatMayBeTheRestOfAPasswordIsNeitherTakenForADatabaseNorShown(String text) {
    assertThatThrownBy(() -> Store.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("cannot be used", "\"@\"", "/ as %2F, ? as %3F and @ as %40")
        .hasMessageNotContaining("hidden");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "postgres://ann:100%hidden@there/db",
        "postgres://ann:hidden%@there/db",
        "postgres://100%:hidden@there/db",
        "postgres://there/db?password=100%hidden",
        "postgres:there?user=100%&password=hidden",
        "postgres://there/db?sslpassword=hidden%2"
      })
  void aPercentSignThatBeginsNoEscapeIsRefusedWithoutThePassword(String text) {
    assertThatThrownBy(() -> Store.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("there", "cannot be used", "write % as %25")
        .hasMessageNotContaining("hidden");
    assertThat(address(text.replace("%", "%25")).url()).contains("there");
  }
}
