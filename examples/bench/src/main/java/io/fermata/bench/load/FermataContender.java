package io.fermata.bench.load;

import io.fermata.persistence.Store;
import io.fermata.session.Fermata;

/** A flow on a separate host, called in process. */
record FermataContender(String name, String flow, Fermata host) implements Contender {

  static FermataContender on(Store store, String flow) {
    Fermata host =
        Fermata.host().store(store).flow(Workload.pure()).flow(Workload.journaled()).start();
    return new FermataContender("Fermata " + flow, flow, host);
  }

  @Override
  public Load.Unit caller() {
    Target target = new InProcess(host);
    return (recorder, number) -> LoadHarness.run(target, flow, recorder, number);
  }

  @Override
  public void close() {
    host.close();
  }
}
