package io.fermata.session.journal;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/**
 * A record or snapshot of which parts are encrypted, or all.
 *
 * @param manifest what it is when it is open
 * @param tree it with bytes in place of every encrypted part; nothing else in it is bytes
 * @param secrets of a snapshot the values that were secret in its run, encrypted
 */
public record EncryptedEntry(String manifest, JsonNode tree, @Nullable JsonNode secrets)
    implements Journaled {}
