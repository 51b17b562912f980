package io.fermata.session.journal;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.EncryptionException;
import java.io.NotSerializableException;
import java.util.HashSet;
import java.util.Set;
import org.apache.pekko.persistence.typed.EventAdapter;
import org.apache.pekko.persistence.typed.EventSeq;
import org.apache.pekko.persistence.typed.SnapshotAdapter;
import org.jspecify.annotations.Nullable;

/**
 * How one session's records and snapshots go into the store and come out of it. It knows the
 * secrets of the session's run from what passes, and of the run before, whose last reply is kept.
 *
 * <p>What cannot be opened is skipped, with all that follows, and told as {@link #unreadable}: the
 * session must then do nothing, so that its journal stays as it is.
 */
public final class EntryEncryption {
  private final String entityId;
  private final Encryption seals;
  private final SecretFields fields;
  private final Set<String> names;
  private Secrets secrets = new Secrets();
  private Secrets before = new Secrets();
  private @Nullable EncryptionException unreadable;

  EntryEncryption(String entityId, Encryption seals, SecretFields fields) {
    this.entityId = entityId;
    this.seals = seals;
    this.fields = fields;
    this.names = new HashSet<>(fields.lastNames());
    // Whatever the runs before the last had that was secret, what they came to may have it, too.
    names.add("earlierTasks");
  }

  /** Why the journal could not be read; null if it could. */
  public @Nullable EncryptionException unreadable() {
    return unreadable;
  }

  /** A text that goes elsewhere than to the client, without the secrets of the run. */
  public String masked(String text) {
    return before.masked(secrets.masked(text));
  }

  // --- what goes into the store -----------------------------------------------------------------

  /** A record as it is stored: as it is, unless something in it is secret. */
  public Object stored(Entry<?> entry) {
    learn(entry);
    return seals.what() == EncryptedFields.EVERYTHING
        ? seals.whole(entityId, entry, null)
        : fields.isEmpty() ? entry : inParts(entry, null);
  }

  private Object storedSnapshot(Object state) {
    if (fields.isEmpty() && seals.what() == EncryptedFields.SECRETS) {
      return state;
    }
    ArrayNode known = secrets.known().addAll(before.known());
    JsonNode kept = known.isEmpty() ? null : seals.sealedPart(entityId, known);
    return seals.what() == EncryptedFields.EVERYTHING
        ? seals.whole(entityId, state, kept)
        : inParts(state, kept);
  }

  private Object inParts(Object plain, @Nullable JsonNode kept) {
    JsonNode tree = Encryption.tree(plain);
    JsonNode sealed =
        new EncryptedTrees(
                names,
                leaf -> secrets.in(leaf) || before.in(leaf),
                part -> seals.sealedPart(entityId, part))
            .sealed(tree);
    return kept == null && EncryptedTrees.same(sealed, tree)
        ? plain
        : new EncryptedEntry(Encryption.manifest(plain), sealed, kept);
  }

  // --- what comes out of it ---------------------------------------------------------------------

  /** A record as it was; null if it cannot be opened, or one before it. */
  private @Nullable Entry<?> read(Object stored) {
    Object plain = opened(stored);
    if (plain == null) {
      return null;
    }
    Entry<?> entry = (Entry<?>) plain;
    learn(entry);
    return entry;
  }

  private @Nullable Object opened(Object stored) {
    if (unreadable != null) {
      return null;
    }
    try {
      if (stored instanceof EncryptedEntry sealed && sealed.secrets() != null) {
        secrets.add(seals.openedPart(entityId, sealed.secrets()));
      }
      return seals.opened(entityId, stored);
    } catch (EncryptionException e) {
      unreadable = e;
      return null;
    } catch (NotSerializableException e) {
      throw new IllegalStateException(e.getMessage(), e);
    }
  }

  /** Knows the secrets that a record has. */
  public void learn(Entry<?> entry) {
    if (fields.isEmpty()) {
      return;
    }
    for (Object happened : entry.events()) {
      if (happened instanceof Event.Started) {
        before = secrets;
        secrets = new Secrets();
      }
      if (happened instanceof Event event) {
        secrets.learn(fields, event);
      }
    }
  }

  /** Knows the secrets that a run's state has, however they came there. */
  public void learn(RunState run) {
    if (!fields.isEmpty()) {
      secrets.learn(fields, run);
    }
  }

  @SuppressWarnings("unchecked") // a session's journal has the entries of its own kind
  public <E> EventAdapter<Entry<E>, Object> entries() {
    return new EventAdapter<>() {
      @Override
      public Object toJournal(Entry<E> entry) {
        return stored(entry);
      }

      @Override
      public String manifest(Entry<E> entry) {
        return "";
      }

      @Override
      public EventSeq<Entry<E>> fromJournal(Object stored, String manifest) {
        Entry<?> entry = read(stored);
        return entry == null ? EventSeq.empty() : EventSeq.single((Entry<E>) entry);
      }
    };
  }

  /**
   * Encrypts and decrypts snapshots.
   *
   * @param empty the state when nothing is known
   */
  @SuppressWarnings("unchecked") // a session's snapshots are of its own kind
  public <S> SnapshotAdapter<SessionState<S>> snapshots(SessionState<S> empty) {
    return new SnapshotAdapter<>() {
      @Override
      public Object toJournal(SessionState<S> state) {
        return storedSnapshot(state);
      }

      @Override
      public SessionState<S> fromJournal(Object stored) {
        Object plain = opened(stored);
        if (plain instanceof SessionState<?> session && session.program() instanceof RunState run) {
          learn(run);
        }
        return plain == null ? empty : (SessionState<S>) plain;
      }
    };
  }
}
