package io.fermata.persistence;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;

/** Loads the plugin settings that lie beside this class. */
final class StoreConfig {

  private StoreConfig() {}

  static Config load(String resource) {
    return ConfigFactory.parseResources(
            StoreConfig.class, resource, ConfigParseOptions.defaults().setAllowMissing(false))
        .resolve();
  }
}
