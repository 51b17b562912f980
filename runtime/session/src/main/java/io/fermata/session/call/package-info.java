/**
 * The port for tools: a call, its arguments, its reply and its outcome as JSON. A transport speaks
 * to this package alone.
 */
@NullMarked
package io.fermata.session.call;

import org.jspecify.annotations.NullMarked;
