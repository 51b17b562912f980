/** What authors write inside a flow: actions, validators, and what an action sees of its run. */
@NullMarked
package io.fermata.flow.action;

import org.jspecify.annotations.NullMarked;
