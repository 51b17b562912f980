/**
 * The crash harness: it kills a real server with SIGKILL at random moments under load, starts it
 * again on the same store, and checks every promise to clients.
 */
@NullMarked
package io.fermata.bench.crash;

import org.jspecify.annotations.NullMarked;
