package io.fermata.persistence.pekko;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.persistence.AtomicWrite;
import org.apache.pekko.persistence.PersistentRepr;
import org.apache.pekko.persistence.SnapshotMetadata;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.SerializationExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import scala.Option;

/** What is written is all that is read again. */
class SerializedTest {
  private record Region(String name) {}

  private static final Region REGION = new Region("north");

  private final ActorSystem system = ActorSystem.create();
  private final Serialization serialization = SerializationExtension.get(system);

  @AfterEach
  void stop() throws Exception {
    system.terminate();
    system.getWhenTerminated().toCompletableFuture().get(30, TimeUnit.SECONDS);
  }

  private static PersistentRepr event(String manifest) {
    return PersistentRepr.apply("done", 1, "a", manifest, false, ActorRef.noSender(), "w");
  }

  @Test
  void anEventThatComesWithMetadataIsRefusedByItsName() {
    AtomicWrite write = AtomicWrite.apply(event("").withMetadata(REGION));
    assertThatThrownBy(() -> SerializedEntry.all(write, serialization))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("metadata", Region.class.getName(), " of a ", "not stored");
  }

  @Test
  void anEventThatItsAdapterNamesIsRefusedByThatName() {
    AtomicWrite write = AtomicWrite.apply(event("done:2"));
    assertThatThrownBy(() -> SerializedEntry.all(write, serialization))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("manifest done:2", " of a ", "not stored");
  }

  @Test
  void aSnapshotThatComesWithMetadataIsRefusedByItsName() {
    SnapshotMetadata key = new SnapshotMetadata("a", 1, 5, Option.apply(REGION));
    assertThatThrownBy(() -> SerializedSnapshot.of(key, "state", serialization))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("metadata", Region.class.getName(), " of a ", "not stored");
  }
}
