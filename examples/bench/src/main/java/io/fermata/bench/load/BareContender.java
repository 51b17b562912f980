package io.fermata.bench.load;

import com.typesafe.config.ConfigFactory;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.BootstrapSetup;
import org.apache.pekko.actor.setup.ActorSystemSetup;
import org.apache.pekko.actor.typed.ActorSystem;

/** Bare persistent actors that write as many entries as a flow's runs, of the same size. */
record BareContender(
    String name, List<Integer> entries, OpenStore store, ActorSystem<BareSession.Call> system)
    implements Contender {

  private static final String CONFIGURATION =
      """
      pekko {
        loglevel = WARNING
        log-dead-letters = off
        loggers = ["org.apache.pekko.event.slf4j.Slf4jLogger"]
        actor {
          serializers.bare = "io.fermata.bench.load.EntrySerializer"
          serialization-bindings."io.fermata.bench.load.BareSession$Entry" = bare
        }
      }
      """;

  static BareContender on(Store store, String flow, JournalShape shape) {
    OpenStore open = store.open();
    var config =
        open.config()
            .withFallback(ConfigFactory.parseString(CONFIGURATION))
            .withFallback(ConfigFactory.load());
    ActorSystem<BareSession.Call> system =
        ActorSystem.create(
            BareSession.region(new BareSession.Entry(new byte[shape.bytes()])),
            "bare",
            ActorSystemSetup.create(BootstrapSetup.create(config), open.setup()));
    return new BareContender("bare actor, " + flow, shape.entries(), open, system);
  }

  @Override
  public Load.Unit caller() {
    return (recorder, number) -> {
      String id = UUID.randomUUID().toString();
      for (int call = 0; call < Workload.CALLS; call++) {
        int count = entries.get(call);
        boolean last = call == Workload.CALLS - 1;
        recorder.timed(
            () -> call(new BareSession.Call(id, count, last, new CompletableFuture<>())));
      }
    };
  }

  private Integer call(BareSession.Call call) throws Exception {
    system.tell(call);
    return call.reply().get(60, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    system.terminate();
    system.getWhenTerminated().toCompletableFuture().join();
    store.close();
  }
}
