/** Checks of the documents: their snippets, shell lines, tables, names and links. */
@NullMarked
package io.fermata.examples.docs;

import org.jspecify.annotations.NullMarked;
