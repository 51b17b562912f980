/**
 * The session actor, its region, the gateway that brings calls to it, and its effects. Knows no
 * kind of session.
 */
@NullMarked
package io.fermata.session.actor;

import org.jspecify.annotations.NullMarked;
