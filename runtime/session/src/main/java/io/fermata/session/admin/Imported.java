package io.fermata.session.admin;

/**
 * A journal that was imported.
 *
 * @param kind {@code run} or {@code thread}
 * @param name the flow, or the agent that the thread began with
 * @param id the id of the journal's last run, or of the thread
 * @param records how many records it has
 * @param signature whether it is from a host with a key that this one has, too
 */
public record Imported(
    String kind, String name, String id, int records, ExportSignature signature) {}
