/**
 * Types of authors as JSON Schema: what a state and arguments look like, and which fields are
 * secret or computed.
 */
@NullMarked
package io.fermata.flow.schema;

import org.jspecify.annotations.NullMarked;
