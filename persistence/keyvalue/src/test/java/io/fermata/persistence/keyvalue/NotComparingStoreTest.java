package io.fermata.persistence.keyvalue;

import io.fermata.persistence.Store;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.Tag;

/** A store that does not compare, as that of WaniWani, which shows what HTTP adds. */
@Tag("slow")
final class NotComparingStoreTest extends KeyValueContract {

  private final Map<Store, FakeKvStore> fakes = new HashMap<>();

  @Override
  protected Store newStore() {
    FakeKvStore fake = new FakeKvStore(false);
    Store store = KeyValueStore.of(fake);
    fakes.put(store, fake);
    return store;
  }

  @Override
  Optional<byte[]> value(String key) {
    return Objects.requireNonNull(fakes.get(store())).value(key).map(KvStore.Versioned::value);
  }
}
