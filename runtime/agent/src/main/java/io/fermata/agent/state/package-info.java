/**
 * The state of a thread, the events that change it and the effects it asks for. Folding a journal
 * calls no code of authors.
 */
@NullMarked
package io.fermata.agent.state;

import org.jspecify.annotations.NullMarked;
