package io.fermata.persistence.spi;

/**
 * A host that shares a store.
 *
 * @param id names the host while its process lives; a restarted host has another
 * @param address where other hosts reach it, as host:port
 * @param description what it runs, as JSON, for other hosts and for operators
 */
public record ClusterHost(String id, String address, String description) {}
