package io.fermata.session.journal;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.BinaryNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.agent.replay.ThreadSecrets;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.key.SessionKey;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The encryption settings of a host.
 *
 * @param fields the secret fields by flow; flows without secrets are absent
 * @param agents what the tools of agents mark as secret
 * @param threads whether a thread of these agents may hold secrets
 */
public record Encryption(
    EntryCipher cipher,
    EncryptedFields what,
    Map<String, SecretFields> fields,
    ThreadSecrets agents,
    boolean threads) {
  /** Without keys. */
  public static final Encryption NONE =
      new Encryption(new EntryCipher(null), EncryptedFields.SECRETS, Map.of());

  private static final JournalSerializer SERIALIZER = new JournalSerializer();

  /** Without agents. */
  public Encryption(EntryCipher cipher, EncryptedFields what, Map<String, SecretFields> fields) {
    this(cipher, what, fields, ThreadSecrets.of(List.of()), false);
  }

  /** Decrypts with the keys from the environment, if there are any. */
  public static Encryption ofEnvironment() {
    return DataKeys.fromEnvironment().map(Encryption::reading).orElse(NONE);
  }

  /** Decrypts with the given keys; with those from the environment if there are none. */
  public static Encryption reading(@Nullable KeyProvider keys) {
    return keys == null
        ? ofEnvironment()
        : new Encryption(
            new EntryCipher(EntryCipher.checked(keys)), EncryptedFields.SECRETS, Map.of());
  }

  /** The id of the key that entries are encrypted with; null if none is. */
  public @Nullable String encryptsWith() {
    boolean nothing = fields.isEmpty() && !threads && what == EncryptedFields.SECRETS;
    return nothing ? null : cipher.current();
  }

  /** The ids of the keys that decrypt; null if they cannot be listed. */
  public @Nullable Set<String> decryptsWith() {
    return cipher.ids();
  }

  /** A copy with additional secret fields. */
  public Encryption knowing(Map<String, SecretFields> others) {
    Map<String, SecretFields> all = new HashMap<>(fields);
    others.forEach((flow, more) -> all.merge(flow, more, SecretFields::and));
    return new Encryption(cipher, what, all, agents, threads);
  }

  /** The encryption of one session. */
  public EntryEncryption of(String entityId) {
    return SessionKey.agentOf(entityId) != null
        ? EntryEncryption.ofThread(entityId, this)
        : EntryEncryption.ofRuns(
            entityId, this, fields.getOrDefault(SessionKey.flowOf(entityId), SecretFields.NONE));
  }

  /**
   * A decrypted entry of a session's journal.
   *
   * @throws UnreadableEntry if this release cannot read it
   * @throws EncryptionException if it cannot be decrypted
   */
  public Entry<?> read(String entityId, StoredEntry stored) {
    Object plain = decrypted(entityId, SERIALIZER.fromBinary(stored.payload(), stored.manifest()));
    if (plain instanceof Entry<?> entry) {
      return entry;
    }
    throw new UnreadableEntry(
        SERIALIZER.manifest(plain),
        ", which is no entry of a run or a thread",
        "restore the journal from a backup, or erase the session",
        null);
  }

  /** Whether an entry is encrypted, in parts or as a whole. */
  public static boolean isEncrypted(StoredEntry stored) {
    return stored.manifest().equals(JournalSerializer.ENCRYPTED);
  }

  /**
   * An entry of a session's journal with a mark in place of what is encrypted with a missing key;
   * empty if nothing of it can be read.
   *
   * @throws EncryptionException if it cannot be decrypted for another reason
   */
  public Optional<Entry<?>> readRedacted(String entityId, StoredEntry stored) {
    try {
      Object read = SERIALIZER.fromBinary(stored.payload(), stored.manifest());
      if (!(read instanceof EncryptedEntry encrypted) || encrypted.tree().isBinary()) {
        return decrypted(entityId, read) instanceof Entry<?> entry
            ? Optional.of(entry)
            : Optional.empty();
      }
      JsonNode tree =
          EncryptedTrees.decrypted(encrypted.tree(), part -> readablePart(entityId, part));
      return SERIALIZER.fromBinary(JournalSerializer.cbor(tree), encrypted.manifest())
              instanceof Entry<?> entry
          ? Optional.of(entry)
          : Optional.empty();
    } catch (UnreadableEntry e) {
      // A mark stands where something else than a text must be.
      return Optional.empty();
    } catch (EncryptionException e) {
      if (e.keyMissing()) {
        return Optional.empty();
      }
      throw e;
    }
  }

  private JsonNode readablePart(String entityId, JsonNode part) {
    try {
      return decryptedPart(entityId, part);
    } catch (EncryptionException e) {
      if (e.keyMissing()) {
        return TextNode.valueOf(Secrets.MARK);
      }
      throw e;
    }
  }

  /**
   * A decrypted object of a session's journal.
   *
   * @throws UnreadableEntry if this release cannot read it
   * @throws EncryptionException if it cannot be decrypted
   */
  public Object decrypted(String entityId, Object stored) {
    if (!(stored instanceof EncryptedEntry encrypted)) {
      return stored;
    }
    JsonNode tree = encrypted.tree();
    byte[] bytes =
        tree.isBinary()
            ? cipher.decrypt(bytes(tree), entityId)
            : JournalSerializer.cbor(
                EncryptedTrees.decrypted(tree, part -> decryptedPart(entityId, part)));
    return SERIALIZER.fromBinary(bytes, encrypted.manifest());
  }

  /** Whether the key of a stored object is there; one key encrypts all of it. */
  public boolean hasKeyOf(Object stored) {
    if (!(stored instanceof EncryptedEntry encrypted)) {
      return true;
    }
    JsonNode kept = encrypted.secrets();
    JsonNode part = kept == null ? encryptedPartOf(encrypted.tree()) : kept;
    return part == null || cipher.hasKeyOf(bytes(part));
  }

  private static @Nullable JsonNode encryptedPartOf(JsonNode tree) {
    if (tree.isBinary()) {
      return tree;
    }
    for (JsonNode child : tree) {
      JsonNode part = encryptedPartOf(child);
      if (part != null) {
        return part;
      }
    }
    return null;
  }

  JsonNode decryptedPart(String entityId, JsonNode part) {
    return plainTree(cipher.decrypt(bytes(part), entityId));
  }

  JsonNode encryptedPart(String entityId, JsonNode part) {
    return BinaryNode.valueOf(cipher.encrypt(JournalSerializer.cbor(part), entityId));
  }

  /** An entry or snapshot encrypted as a whole. */
  EncryptedEntry whole(String entityId, Object plain, @Nullable JsonNode secrets) {
    byte[] bytes = cipher.encrypt(JournalSerializer.cbor(plain), entityId);
    return new EncryptedEntry(SERIALIZER.manifest(plain), BinaryNode.valueOf(bytes), secrets);
  }

  static String manifest(Object plain) {
    return SERIALIZER.manifest(plain);
  }

  static JsonNode tree(Object plain) {
    return plainTree(JournalSerializer.cbor(plain));
  }

  private static byte[] bytes(JsonNode part) {
    try {
      return part.binaryValue();
    } catch (IOException e) {
      throw new IllegalStateException("A binary node has no bytes", e);
    }
  }

  private static JsonNode plainTree(byte[] cbor) {
    try {
      return JournalSerializer.tree(cbor);
    } catch (IOException e) {
      throw new IllegalStateException("A tree could not be deserialized", e);
    }
  }
}
