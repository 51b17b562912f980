package io.fermata.session.journal;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.fermata.agent.replay.ThreadSecrets;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.EncryptionException;
import java.util.List;
import java.util.Set;
import org.apache.pekko.persistence.typed.EventAdapter;
import org.apache.pekko.persistence.typed.EventSeq;
import org.apache.pekko.persistence.typed.SnapshotAdapter;
import org.jspecify.annotations.Nullable;

/**
 * Encrypts and decrypts the entries and snapshots of one session. It collects the secrets of the
 * session's run or thread as they pass, and keeps those of the previous run, whose last reply is
 * kept.
 *
 * <p>A thread that may hold secrets is encrypted as a whole, and stays so once it was: what models,
 * tools and digests make of a secret cannot be found value by value.
 *
 * <p>If an entry cannot be decrypted, it and all later ones are skipped and {@link #unreadable} is
 * set: the session must then do nothing, so that its journal stays unchanged.
 */
public final class EntryEncryption {
  private final String entityId;
  private final Encryption encryption;
  private final SecretFields fields;
  private final Set<String> names;

  /** Null for runs. */
  private final @Nullable ThreadSecrets thread;

  private boolean whole;
  private Secrets secrets = new Secrets();
  private Secrets before = new Secrets();
  private @Nullable EncryptionException unreadable;

  private EntryEncryption(
      String entityId, Encryption encryption, SecretFields fields, @Nullable ThreadSecrets thread) {
    this.entityId = entityId;
    this.encryption = encryption;
    this.fields = fields;
    this.names = fields.lastNames();
    this.thread = thread;
    this.whole = encryption.what() == EncryptedFields.EVERYTHING;
  }

  static EntryEncryption ofRuns(String entityId, Encryption encryption, SecretFields fields) {
    return new EntryEncryption(entityId, encryption, fields, null);
  }

  static EntryEncryption ofThread(String entityId, Encryption encryption) {
    EntryEncryption thread =
        new EntryEncryption(entityId, encryption, SecretFields.NONE, encryption.agents().fresh());
    if (encryption.threads()) {
      thread.encryptWhole();
    }
    return thread;
  }

  /** Encrypts every entry and snapshot from now on, if there is a key. */
  public void encryptWhole() {
    whole |= encryption.cipher().current() != null;
  }

  /** Why the journal could not be read; null if it was read. */
  public @Nullable EncryptionException unreadable() {
    return unreadable;
  }

  /** A text without the secrets of the run or thread, for logs and the like. */
  public String masked(String text) {
    return before.masked(secrets.masked(text));
  }

  // --- encrypting -----------------------------------------------------------------

  /** The stored form of an entry: unchanged unless it contains secrets. */
  public Object stored(Entry<?> entry) {
    learn(entry);
    Entry<?> kept = withSecrets(entry);
    return whole
        ? encryption.whole(entityId, kept, null)
        : fields.isEmpty() ? kept : inParts(kept, null);
  }

  /**
   * An end with the secrets in it: what it returns may be written again, when nothing else of the
   * run is left and when another one follows.
   */
  private Entry<?> withSecrets(Entry<?> entry) {
    RunEnd end = entry.end();
    if (end == null || (secrets.isEmpty() && before.isEmpty())) {
      return entry;
    }
    JsonNode tree = Encryption.tree(entry);
    ArrayNode found = before.foundIn(tree).addAll(secrets.foundIn(tree));
    // Also what is only the beginning of one, in a text that was cut.
    secrets.add(found);
    return found.isEmpty() ? entry : entry.ending(end.withSecrets(found));
  }

  private Object storedSnapshot(Object state) {
    if (fields.isEmpty() && !whole) {
      return state;
    }
    ArrayNode known = before.known().addAll(secrets.known());
    JsonNode kept = known.isEmpty() ? null : encryption.encryptedPart(entityId, known);
    return whole ? encryption.whole(entityId, state, kept) : inParts(state, kept);
  }

  private Object inParts(Object plain, @Nullable JsonNode kept) {
    JsonNode tree = Encryption.tree(plain);
    JsonNode encrypted =
        new EncryptedTrees(
                names,
                leaf -> secrets.in(leaf) || before.in(leaf),
                part -> encryption.encryptedPart(entityId, part))
            .encrypted(tree);
    return kept == null && EncryptedTrees.same(encrypted, tree)
        ? plain
        : new EncryptedEntry(Encryption.manifest(plain), encrypted, kept);
  }

  // --- decrypting ---------------------------------------------------------------------

  /** A decrypted entry; null if it, or an earlier one, cannot be decrypted. */
  private @Nullable Entry<?> read(Object stored) {
    Object plain = decrypted(stored);
    if (plain == null) {
      return null;
    }
    Entry<?> entry = (Entry<?>) plain;
    learn(entry);
    return entry;
  }

  private @Nullable Object decrypted(Object stored) {
    if (unreadable != null) {
      return null;
    }
    if (thread != null && stored instanceof EncryptedEntry) {
      encryptWhole();
    }
    try {
      if (stored instanceof EncryptedEntry encrypted && encrypted.secrets() != null) {
        secrets.add(encryption.decryptedPart(entityId, encrypted.secrets()));
      }
      return encryption.decrypted(entityId, stored);
    } catch (EncryptionException e) {
      unreadable = e;
      return null;
    }
  }

  /** Collects the secrets of an entry. */
  public void learn(Entry<?> entry) {
    if (fields.isEmpty() && thread == null) {
      return;
    }
    secrets.forgetEldest();
    RunEnd end = entry.end();
    if (end != null && end.secrets() != null) {
      secrets.add(end.secrets());
    }
    for (Object happened : entry.events()) {
      if (happened instanceof Event.Started) {
        before = secrets;
        secrets = new Secrets();
      }
      note(happened);
    }
  }

  private void note(Object happened) {
    if (thread != null && happened instanceof ThreadEvent event) {
      thread.find(event, secrets::add);
    } else if (!fields.isEmpty() && happened instanceof Event event) {
      secrets.learn(fields, event);
    }
  }

  /** Collects the secrets of events before they are written, which is when a run starts. */
  public void learn(List<?> events) {
    events.forEach(this::note);
  }

  /** Collects the secrets in the state of a program. */
  public void learnState(Object state) {
    if (thread != null && state instanceof ThreadState now) {
      thread.find(now, secrets::add);
    } else if (!fields.isEmpty() && state instanceof RunState run) {
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
   * @param empty the initial state
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
        Object plain = decrypted(stored);
        if (plain instanceof SessionState<?> session) {
          learnState(session.program());
        }
        return plain == null ? empty : (SessionState<S>) plain;
      }
    };
  }
}
