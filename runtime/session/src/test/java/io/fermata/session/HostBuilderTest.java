package io.fermata.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.persistence.Store;
import io.fermata.session.admin.Settings;
import org.junit.jupiter.api.Test;

class HostBuilderTest {
  @Test
  void aChangeOfSettingsKeepsThoseThatWereSet() {
    HostBuilder host = Fermata.host().settings(Settings.DEFAULT.awake(5));

    host.settings(settings -> settings.threads(7));

    assertThat(host.settings).isEqualTo(Settings.DEFAULT.awake(5).threads(7));
  }

  @Test
  void aHostHasNoStoreUntilOneIsNamed() {
    Store store = Store.memory();

    assertThat(Fermata.host().store()).isEmpty();
    assertThat(Fermata.host().store(store).store()).contains(store);
  }
}
