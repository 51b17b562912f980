/**
 * Conditions on the state as data and their evaluation, and the routes out of a node: edges,
 * decisions, forks and joins.
 */
@NullMarked
package io.fermata.flow.route;

import org.jspecify.annotations.NullMarked;
