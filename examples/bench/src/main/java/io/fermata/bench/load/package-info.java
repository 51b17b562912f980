/**
 * The load harness: one workload, in process and over HTTP, on every store, beside the yardsticks
 * that say what the machine can do at all. A program of its own, not part of the server.
 */
@NullMarked
package io.fermata.bench.load;

import org.jspecify.annotations.NullMarked;
