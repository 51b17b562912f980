package io.fermata.session.journal;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Recorder;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.AlteredStore;
import io.fermata.session.TestFlows;
import io.fermata.session.TestHost;
import io.fermata.session.TestHost.Client;
import java.io.OutputStream;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Whoever reads a long journal holds a page of it at a time. */
@Tag("slow")
final class LongJournalTest {
  private static final int WORDS = 1_500;
  private static final long LARGEST_PAGE = 500;
  private static final int COLLECTIONS = 20;

  private final AtomicLong read = new AtomicLong();
  private final AtomicLong largest = new AtomicLong();

  /** The entries that were read, which only their reader keeps. */
  private final Queue<WeakReference<StoredEntry>> entries = new ConcurrentLinkedQueue<>();

  private final TestHost host = new TestHost(counting(Store.memory()), TestFlows.talk());
  private String runId = "";
  private volatile boolean collecting;
  private volatile long held;

  @BeforeEach
  void talks() {
    Client client = host.client();
    runId = client.start().meta().at("/fermata~1run/runId").asText();
    for (int i = 0; i < WORDS; i++) {
      client.proceed("word", "w" + i);
    }
    read.set(0);
    largest.set(0);
    entries.clear();
  }

  @AfterEach
  void stop() {
    host.close();
  }

  /** A store that counts the entries that were read. */
  private Store counting(Store store) {
    return AlteredStore.of(
        store,
        request -> {
          boolean reads = request.is("read");
          if (reads && collecting) {
            held = Math.max(held, kept());
          }
          return reads ? counted(Objects.requireNonNull(request.ask())) : request.ask();
        });
  }

  @SuppressWarnings("unchecked") // what read returns
  private Object counted(Object result) {
    return ((CompletionStage<List<StoredEntry>>) result)
        .thenApply(
            page -> {
              read.addAndGet(page.size());
              largest.accumulateAndGet(page.size(), Math::max);
              return page.stream().map(this::copy).toList();
            });
  }

  private StoredEntry copy(StoredEntry entry) {
    StoredEntry copy =
        new StoredEntry(entry.seq(), entry.serializerId(), entry.manifest(), entry.payload());
    entries.add(new WeakReference<>(copy));
    return copy;
  }

  /** How many entries a reader still has; a collection may leave some that it has no more. */
  private long kept() {
    long kept = Long.MAX_VALUE;
    for (int i = 0; i < COLLECTIONS && kept > LARGEST_PAGE; i++) {
      System.gc();
      kept = entries.stream().filter(entry -> entry.get() != null).count();
    }
    return kept;
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
    host.fermata().journals().run("talk", runId).replay(recorder).toCompletableFuture().join();
    assertThat(read.get()).isGreaterThan(WORDS);
    assertThat(held).isBetween(1L, LARGEST_PAGE);
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
    long exported =
        host.fermata().journals().run("talk", runId).export(out).toCompletableFuture().join();
    assertThat(exported).isGreaterThan(WORDS).isEqualTo(read.get());
    assertThat(held).isBetween(1L, LARGEST_PAGE);
  }

  @Test
  void aCheckHoldsNoMoreThanTheLastPageWhenItReadsTheNext() {
    collecting = true;
    assertThat(
            host.fermata().journals().check(TestFlows.talk()).toCompletableFuture().join().runs())
        .hasSize(1);
    assertThat(read.get()).isGreaterThan(WORDS);
    assertThat(largest.get()).isBetween(1L, LARGEST_PAGE);
    assertThat(held).isLessThanOrEqualTo(LARGEST_PAGE);
  }
}
