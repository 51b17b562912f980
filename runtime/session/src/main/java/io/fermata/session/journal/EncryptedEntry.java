package io.fermata.session.journal;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/**
 * An entry or snapshot, encrypted in parts or as a whole.
 *
 * @param manifest the manifest of the decrypted object
 * @param tree its tree, with bytes in place of encrypted parts; it contains no other bytes
 * @param secrets for a snapshot, the encrypted secrets of its run
 */
public record EncryptedEntry(String manifest, JsonNode tree, @Nullable JsonNode secrets)
    implements Journaled {}
