package io.fermata.session;

import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * How a flow presents itself as a tool. The trees are shared: they must not be changed.
 *
 * @param forms whether clients may show its questions as forms
 */
public record ToolContract(
    String name,
    String title,
    String description,
    ObjectNode inputSchema,
    ObjectNode outputSchema,
    boolean forms) {}
