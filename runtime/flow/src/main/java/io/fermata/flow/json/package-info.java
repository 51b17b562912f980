/**
 * JSON trees and paths into them, their sizes and limits, persistent collections, digests, options
 * that are set in copies, and what can be reached over ways. Knows nothing of flows.
 */
@NullMarked
package io.fermata.flow.json;

import org.jspecify.annotations.NullMarked;
