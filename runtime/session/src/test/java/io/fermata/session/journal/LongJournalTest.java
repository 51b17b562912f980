package io.fermata.session.journal;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Recorder;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreSource;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.spi.Verified;
import io.fermata.session.TestFlows;
import io.fermata.session.TestHost;
import io.fermata.session.TestHost.Client;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Whoever reads a long journal holds a page of it at a time. */
@Tag("slow")
final class LongJournalTest {
  private static final int WORDS = 1_500;

  private final AtomicLong read = new AtomicLong();
  private final TestHost host = new TestHost(counting(Store.memory()), TestFlows.talk());
  private String runId = "";
  private long held;

  @BeforeEach
  void talks() {
    Client client = host.client();
    runId = client.start().meta().at("/fermata~1run/runId").asText();
    for (int i = 0; i < WORDS; i++) {
      client.proceed("word", "w" + i);
    }
    read.set(0);
  }

  @AfterEach
  void stop() {
    host.close();
  }

  /** A store that counts the entries that were read. */
  private Store counting(Store store) {
    return Store.of(
        new StoreSource() {
          @Override
          public OpenStore open() {
            return counting(store.open());
          }

          @Override
          public void backup(Path file) {
            store.backup(file);
          }

          @Override
          public Verified verify(Consumer<String> damage) {
            return store.verify(damage);
          }
        });
  }

  private OpenStore counting(OpenStore open) {
    return (OpenStore)
        Proxy.newProxyInstance(
            OpenStore.class.getClassLoader(),
            new Class<?>[] {OpenStore.class},
            (proxy, method, arguments) -> {
              try {
                Object result = method.invoke(open, arguments);
                return method.getName().equals("read") ? counted(result) : result;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @SuppressWarnings("unchecked") // what read returns
  private Object counted(Object result) {
    return ((CompletionStage<List<StoredEntry>>) result)
        .thenApply(
            page -> {
              read.addAndGet(page.size());
              return page;
            });
  }

  @Test
  void aReplayReadsOnWhenTheRecordersHaveWhatItRead() {
    Recorder recorder =
        new Recorder() {
          @Override
          public void onEvent(Observation event) {
            held = Math.max(held, read.get() - event.moment().seq());
          }
        };
    host.fermata().replay("talk", runId, recorder).toCompletableFuture().join();
    assertThat(read.get()).isGreaterThan(WORDS);
    assertThat(held).isBetween(1L, 500L);
  }

  @Test
  void anExportReadsOnWhenItsLinesAreWritten() {
    AtomicLong lines = new AtomicLong();
    OutputStream out =
        new OutputStream() {
          @Override
          public void write(int each) {
            if (each == '\n') {
              held = Math.max(held, read.get() - lines.incrementAndGet());
            }
          }
        };
    long exported = host.fermata().export("talk", runId, out).toCompletableFuture().join();
    assertThat(exported).isGreaterThan(WORDS).isEqualTo(read.get());
    assertThat(held).isBetween(1L, 500L);
  }

  @Test
  void aCheckReadsAJournalInPages() {
    assertThat(host.fermata().check(TestFlows.talk()).toCompletableFuture().join().runs())
        .hasSize(1);
    assertThat(read.get()).isGreaterThan(WORDS);
  }
}
