package io.fermata.persistence.keyvalue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.Store;
import io.fermata.persistence.spi.StoreException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class KeyValueProviderTest {

  private static final Map<String, String> KEY = Map.of("WANIWANI_API_KEY", "k");

  private final KeyValueProvider provider = new KeyValueProvider();

  @Test
  void theModuleOnTheClassPathIsEnoughForItsAddressesToBeRead() {
    assertThat(Store.parse("redis://user:secret@127.0.0.1:6379/3"))
        .hasToString("redis://127.0.0.1:6379/3");
    assertThat(Store.parse(" rediss://127.0.0.1:6379/3")).hasToString("rediss://127.0.0.1:6379/3");
  }

  @Test
  void hostsOfAClusterAreRefusedBeforeTheStoreIsCalled() {
    for (Store store :
        List.of(
            Store.parse("redis://127.0.0.1:1/3"),
            Store.of(provider.fromEnvironment(KEY).orElseThrow()))) {
      assertThatThrownBy(store::openShared)
          .isInstanceOf(StoreException.class)
          .hasMessageStartingWith(
              store
                  + " cannot be shared by the hosts of a cluster, which need a PostgreSQL store;");
    }
  }

  @Test
  void addressesOfOtherStoresAreLeftToOthers() {
    assertThat(provider.parse("sqlite:a.db", KEY)).isEmpty();
    assertThat(provider.parse("redis:there", KEY)).isEmpty();
    assertThat(provider.fromEnvironment(Map.of("WANIWANI_API_KEY", " "))).isEmpty();
  }

  @Test
  void theKeyAloneNamesTheStoreOfTheAccount() {
    assertThat(provider.fromEnvironment(KEY))
        .hasValueSatisfying(
            store -> assertThat(store).hasToString("waniwani:https://app.waniwani.ai"));
  }

  @Test
  void theAddressOfAnAccountNeedsItsKeyAndHttp() {
    assertThat(provider.parse("waniwani:https://kv.example", KEY))
        .hasValueSatisfying(store -> assertThat(store).hasToString("waniwani:https://kv.example"));
    assertThatThrownBy(() -> provider.parse("waniwani:https://kv.example", Map.of()))
        .hasMessageContaining("WANIWANI_API_KEY is not set");
    assertThatThrownBy(() -> provider.parse("waniwani:ftp://kv.example", KEY))
        .hasMessageContaining("does not begin with https://");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "waniwani:https://u:hidden@h",
        "waniwani:https://u:hidden@h/a b",
        "redis://u:hidden@h/a b"
      })
  void noPasswordIsShownOfAnAddressThatIsRefused(String address) {
    assertThatThrownBy(() -> provider.parse(address, KEY))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageNotContaining("hidden");
  }
}
