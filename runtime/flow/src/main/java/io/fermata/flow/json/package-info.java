/**
 * JSON trees and paths into them, their sizes and limits, and persistent collections. Knows nothing
 * of flows.
 */
@NullMarked
package io.fermata.flow.json;

import org.jspecify.annotations.NullMarked;
