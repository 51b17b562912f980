/**
 * The interface for tool calls: a call, its arguments, its reply and its outcome as JSON.
 * Transports use only this package.
 */
@NullMarked
package io.fermata.session.call;

import org.jspecify.annotations.NullMarked;
