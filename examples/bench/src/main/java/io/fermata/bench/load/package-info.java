/**
 * The load harness: one workload, in process and over HTTP, on every store, next to yardsticks of
 * the machine. A separate program, not part of the server.
 */
@NullMarked
package io.fermata.bench.load;

import org.jspecify.annotations.NullMarked;
