package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/**
 * A request whose envelope has been checked.
 *
 * @param session the legacy session it belongs to
 */
record Request(
    Revision revision,
    String principal,
    @Nullable String session,
    ObjectNode params,
    ObjectNode meta) {}
