package io.fermata.testkit;

import io.fermata.flow.event.RunState;
import io.fermata.persistence.pekko.StoreSetup;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalSerializer;
import io.fermata.session.journal.SessionState;
import java.util.Arrays;
import org.apache.pekko.actor.ExtendedActorSystem;
import org.apache.pekko.serialization.SerializerWithStringManifest;
import org.jspecify.annotations.Nullable;

/**
 * The serializer of journals in the actor system of a probe. It reads back everything that it has
 * written, each entry and each state, and notifies the probe if that is something else.
 */
final class CheckedSerializer extends SerializerWithStringManifest {
  private final JournalSerializer journal = new JournalSerializer();
  private final ExtendedActorSystem system;

  CheckedSerializer(ExtendedActorSystem system) {
    this.system = system;
  }

  @Override
  public int identifier() {
    return journal.identifier();
  }

  @Override
  public String manifest(Object object) {
    return journal.manifest(object);
  }

  @Override
  public byte[] toBinary(Object object) {
    try {
      byte[] bytes = journal.toBinary(object);
      String difference = difference(object, bytes);
      if (difference != null) {
        damaged(difference);
      }
      FaultyStore faults = faults();
      if (object instanceof Entry<?> entry && faults != null) {
        entry.events().forEach(faults::written);
      }
      return bytes;
    } catch (RuntimeException e) {
      damaged("A journal could not store " + object + ": " + e.getMessage());
      throw new IllegalStateException("A journal could not store " + object, e);
    }
  }

  @Override
  public Object fromBinary(byte[] bytes, String manifest) {
    return journal.fromBinary(bytes, manifest);
  }

  private @Nullable String difference(Object object, byte[] bytes) {
    Object read = journal.fromBinary(bytes, journal.manifest(object));
    if (!Arrays.equals(journal.toBinary(read), bytes)) {
      return "A journal would not store " + object + " as it is: it is read as " + read;
    } else if (object instanceof Entry<?> entry
        && read instanceof Entry<?> again
        && !entry.events().equals(again.events())) {
      return "A journal would not store the events %s as they are: they are read as %s"
          .formatted(entry.events(), again.events());
    } else if (object instanceof SessionState<?> state
        && state.program() instanceof RunState run
        && read instanceof SessionState<?> again
        && !run.equals(again.program())) {
      return "A snapshot would not store the state %s as it is: it is read as %s"
          .formatted(run, again.program());
    }
    return null;
  }

  private void damaged(String what) {
    FaultyStore faults = faults();
    if (faults != null) {
      faults.damaged(what);
    }
  }

  private @Nullable FaultyStore faults() {
    return StoreSetup.of(system).journals() instanceof FaultyOpenStore.Journals journals
        ? journals.faults()
        : null;
  }
}
