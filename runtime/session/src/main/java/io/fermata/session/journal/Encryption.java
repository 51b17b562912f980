package io.fermata.session.journal;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.BinaryNode;
import io.fermata.flow.SecretFields;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.admin.DataKeys;
import io.fermata.session.admin.EncryptedFields;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.admin.KeyProvider;
import io.fermata.session.key.SessionKey;
import java.io.IOException;
import java.io.NotSerializableException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a host encrypts, and with which keys.
 *
 * @param fields the secret fields by flow; a flow without any is not there
 */
public record Encryption(
    EntryCipher sealer, EncryptedFields what, Map<String, SecretFields> fields) {
  private static final JournalSerializer SERIALIZER = new JournalSerializer();

  /** What reads with the keys that the environment names, if it does. */
  public static Encryption ofEnvironment() {
    return DataKeys.fromEnvironment()
        .map(Encryption::reading)
        .orElseGet(() -> new Encryption(new EntryCipher(null), EncryptedFields.SECRETS, Map.of()));
  }

  /** What reads with some keys. */
  public static Encryption reading(KeyProvider keys) {
    return new Encryption(
        new EntryCipher(EntryCipher.checked(keys)), EncryptedFields.SECRETS, Map.of());
  }

  /** The same where flows have other secret fields, too. */
  public Encryption knowing(Map<String, SecretFields> others) {
    Map<String, SecretFields> all = new HashMap<>(fields);
    others.forEach((flow, more) -> all.merge(flow, more, SecretFields::and));
    return new Encryption(sealer, what, all);
  }

  /** How the records of one session go into the store and come out of it. */
  public EntryEncryption of(String entityId) {
    return new EntryEncryption(entityId, this, fieldsOf(entityId));
  }

  private SecretFields fieldsOf(String entityId) {
    boolean thread = SessionKey.agentOf(entityId) != null;
    return thread
        ? SecretFields.NONE
        : fields.getOrDefault(SessionKey.flowOf(entityId), SecretFields.NONE);
  }

  /**
   * A record of a session's journal, as it is when it is open.
   *
   * @throws NotSerializableException if this release cannot read it
   * @throws EncryptionException if it cannot be opened
   */
  public Entry<?> read(String entityId, StoredEntry stored) throws NotSerializableException {
    Object plain = opened(entityId, SERIALIZER.fromBinary(stored.payload(), stored.manifest()));
    if (plain instanceof Entry<?> entry) {
      return entry;
    }
    throw new UnreadableEntry(
        SERIALIZER.manifest(plain),
        ", which belongs to no run and no thread",
        "restore the journal from a backup, or erase the session",
        null);
  }

  /**
   * What was written in a journal, as it is when it is open.
   *
   * @throws NotSerializableException if this release cannot read it
   * @throws EncryptionException if it cannot be opened
   */
  public Object opened(String entityId, Object stored) throws NotSerializableException {
    if (!(stored instanceof EncryptedEntry sealed)) {
      return stored;
    }
    JsonNode tree = sealed.tree();
    byte[] bytes =
        tree.isBinary()
            ? sealer.open(bytes(tree), entityId)
            : JournalSerializer.cbor(
                EncryptedTrees.opened(tree, part -> openedPart(entityId, part)));
    return SERIALIZER.fromBinary(bytes, sealed.manifest());
  }

  JsonNode openedPart(String entityId, JsonNode part) {
    return plainTree(sealer.open(bytes(part), entityId));
  }

  JsonNode sealedPart(String entityId, JsonNode part) {
    return BinaryNode.valueOf(sealer.seal(JournalSerializer.cbor(part), entityId));
  }

  /** An entry or snapshot encrypted as a whole. */
  EncryptedEntry whole(String entityId, Object plain, @Nullable JsonNode secrets) {
    byte[] bytes = sealer.seal(JournalSerializer.cbor(plain), entityId);
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
      throw new IllegalStateException("Bytes are bytes", e);
    }
  }

  private static JsonNode plainTree(byte[] cbor) {
    try {
      return JournalSerializer.tree(cbor);
    } catch (IOException e) {
      throw new IllegalStateException("A tree could not be read", e);
    }
  }
}
