/**
 * The command line of an application: a class for each command, and the options that they share. It
 * may use everything below it; an application knows {@link io.fermata.cli.Cli} and {@link
 * io.fermata.cli.Application}.
 */
@NullMarked
package io.fermata.cli;

import org.jspecify.annotations.NullMarked;
