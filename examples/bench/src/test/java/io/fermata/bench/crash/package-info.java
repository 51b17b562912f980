/**
 * The crash harness: it kills a real server with SIGKILL at random moments under load, takes its
 * store away from it in between, and checks every promise to clients.
 */
@NullMarked
package io.fermata.bench.crash;

import org.jspecify.annotations.NullMarked;
