/** A cluster as the files in the folder deploy start it, and what those files say. */
@NullMarked
package io.fermata.examples.deploy;

import org.jspecify.annotations.NullMarked;
