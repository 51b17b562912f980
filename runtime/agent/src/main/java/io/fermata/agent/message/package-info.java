/**
 * The messages of a thread, the calls they request and the results of these, and the bounds of what
 * a thread can hold.
 */
@NullMarked
package io.fermata.agent.message;

import org.jspecify.annotations.NullMarked;
