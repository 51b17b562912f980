package io.fermata.examples.flows;

import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;

/** A host of the examples, with a scripted model at the desk. */
record ExamplesHost(Fermata host, Examples examples) implements AutoCloseable {

  static ExamplesHost start(Store store) {
    Examples examples = new Examples();
    HostBuilder builder = Fermata.host().store(store);
    examples.addTo(builder);
    Fermata host = builder.start();
    examples.started(host);
    return new ExamplesHost(host, examples);
  }

  @Override
  public void close() {
    host.close();
    examples.close();
  }
}
