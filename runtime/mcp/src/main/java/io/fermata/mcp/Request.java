package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.ToolProgress;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request whose envelope has been checked.
 *
 * @param session the legacy session it belongs to
 * @param progress whom to tell what happens until it is answered
 */
record Request(
    Revision revision,
    String principal,
    @Nullable String session,
    ObjectNode params,
    ObjectNode meta,
    Consumer<ToolProgress> progress) {}
