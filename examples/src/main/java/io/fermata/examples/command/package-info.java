/** The command line of the examples: a class for each command, and the options that they share. */
@NullMarked
package io.fermata.examples.command;

import org.jspecify.annotations.NullMarked;
