package io.fermata.persistence.keyvalue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.keyvalue.WaniwaniStub;
import io.fermata.persistence.Store;
import io.fermata.persistence.contract.EssentialContract;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.spi.StoreException;
import io.fermata.ports.Ports;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The key-value API of WaniWani over HTTP; {@link NotComparingStoreTest} shows the rest. */
@Tag("slow")
final class WaniwaniStoreTest extends EssentialContract {

  private final WaniwaniStub stub = stub();

  private static WaniwaniStub stub() {
    try {
      return new WaniwaniStub();
    } catch (IOException failed) {
      throw new AssertionError(failed);
    }
  }

  @AfterEach
  void stop() {
    stub.close();
  }

  @Override
  protected Store newStore() {
    return new KeyValueProvider()
        .fromEnvironment(Map.of("WANIWANI_API_KEY", stub.newKey(), "WANIWANI_API_URL", stub.base()))
        .map(Store::of)
        .orElseThrow();
  }

  private KvStore adapter(String apiKey) {
    return new HttpKvStore(URI.create(stub.base()), apiKey);
  }

  @Test
  void aValueHasAnotherVersionAfterEachWrite() {
    KvStore adapter = adapter(stub.newKey());
    byte[] value = {1};
    String first = Host.await(adapter.set("k", value, null, null)).orElseThrow();
    assertThat(Host.await(adapter.get("k")).orElseThrow().version()).isEqualTo(first);
    String second = Host.await(adapter.set("k", value, first, null)).orElseThrow();
    assertThat(Host.await(adapter.get("k")).orElseThrow().version())
        .isEqualTo(second)
        .isNotEqualTo(first);
    Host.await(adapter.delete("k"));
    assertThat(Host.await(adapter.get("k"))).isEmpty();
    assertThat(adapter.compares()).isFalse();
  }

  @Test
  void theTimeToLiveIsSaidInSeconds() {
    byte[] value = {1};
    Host.await(adapter(stub.newKey()).set("k", value, null, Duration.ofMinutes(2)));
    assertThat(stub.bodies()).anyMatch(body -> body.contains("\"ttlSeconds\":120"));
  }

  @ParameterizedTest
  @CsvSource({
    "401, {}, it rejects the key (HTTP 401); check WANIWANI_API_KEY",
    "500, oops, it responded with HTTP 500",
    "429, {}, it responded with HTTP 429",
    "200, oops, is not JSON; check that a WaniWani API is"
  })
  void anAnswerThatIsNoneIsSaidInTheStoresWordsAndWithoutTheKey(
      int status, String body, String why) {
    try (Host host = Host.on(store())) {
      Host.Desk desk = host.open("a").write(new Line("one"));
      stub.answer(status, body);
      assertThatThrownBy(() -> Host.await(host.store().directory().get("b")))
          .rootCause()
          .hasMessageContaining(why)
          .hasMessageNotContaining("wwk-");
      assertThatThrownBy(() -> Host.await(desk.attempt(new Line("two"))))
          .hasRootCauseInstanceOf(Host.RefusedException.class);
      stub.answer(200, null);
      assertThat(host.open("a").write(new Line("three")).lines()).containsExactly("one", "three");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "401 | {} | rejects the key (HTTP 401); check WANIWANI_API_KEY",
        "403 | {} | rejects the key (HTTP 403); check WANIWANI_API_KEY",
        "404 | <html>no</html> | HTTP 404 for /api/mcp/redis/get; check that a WaniWani API is at",
        "302 | <html>login</html> | HTTP 302 for /api/mcp/redis/get; check that a WaniWani API is",
        "503 | {} | responded with HTTP 503 for /api/mcp/redis/get; retry",
        "200 | <html>hello</html> | its response to /api/mcp/redis/get is not JSON; check that a WaniWani API is",
        "200 | [] | is not {\"data\": …} but of type array with the fields []; check",
        "200 | {\"ok\":true,\"value\":7} | is not {\"data\": …} but of type object with the fields [ok, value]; check that",
        "200 | {\"data\":null} | does not keep what is written; check"
      })
  void aStoreThatIsMisconfiguredIsRefusedWhenItIsOpened(int status, String body, String why) {
    stub.answer(status, body);
    assertThatThrownBy(() -> store().open())
        .isInstanceOf(StoreException.class)
        .hasMessageContainingAll("waniwani:" + stub.base(), why)
        .hasMessageNotContaining("wwk-");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"\u201cwwk-hidden\u201d", "wwk-\u200bhidden", "wwk-\nhidden", "wwk-hidden\u007f"})
  void aKeyThatNoHeaderMayHaveIsRefusedByTheNameOfItsVariableAndNotShown(String key) {
    Map<String, String> environment = Map.of("WANIWANI_API_KEY", key);
    KeyValueProvider provider = new KeyValueProvider();
    for (ThrowingCallable parsing :
        List.<ThrowingCallable>of(
            () -> provider.fromEnvironment(environment),
            () -> provider.parse("waniwani:" + stub.base(), environment))) {
      assertThatThrownBy(parsing)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContainingAll("WANIWANI_API_KEY", "no header may have", "correct it")
          .hasMessageNotContaining("hidden");
    }
  }

  @Test
  void aKeyMayEndWithTheLineBreakOfItsFile() {
    Map<String, String> environment =
        Map.of("WANIWANI_API_KEY", stub.newKey() + "\n", "WANIWANI_API_URL", stub.base());
    Store store = new KeyValueProvider().fromEnvironment(environment).map(Store::of).orElseThrow();
    try (Host host = Host.on(store)) {
      assertThat(host.open("a").write(new Line("one")).lines()).containsExactly("one");
    }
  }

  @Test
  void anAddressMayHaveAPath() {
    KvStore adapter = new HttpKvStore(URI.create(stub.base() + "/proxy/"), stub.newKey());
    assertThatThrownBy(() -> Host.await(adapter.get("k")))
        .hasStackTraceContaining("HTTP 404 for /proxy/api/mcp/redis/get");
  }

  @Test
  void aServerThatIsNotThereIsSaid() {
    int nobody = Ports.free();
    Store store =
        KeyValueStore.of(new HttpKvStore(URI.create("http://127.0.0.1:" + nobody), "key"));
    assertThatThrownBy(store::open)
        .isInstanceOf(StoreException.class)
        .hasMessageContainingAll(
            "waniwani:http://127.0.0.1:" + nobody, "could not be read: ConnectException", "check");
  }

  @Test
  void aValueOfSomebodyElseIsRefused() {
    KvStore adapter = adapter(stub.newKey());
    stub.answer(200, "{\"data\":{\"step\":\"ask\",\"state\":{}}}");
    assertThatThrownBy(() -> Host.await(adapter.get("k")))
        .hasRootCauseInstanceOf(StoreException.class)
        .rootCause()
        .hasMessage(
            "The value of k was not written by Fermata; use a separate API key for Fermata");
  }
}
