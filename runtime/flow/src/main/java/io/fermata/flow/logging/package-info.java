/**
 * Texts of strangers made fit for a log, and what is logged where an application has chosen no
 * SLF4J provider. Uses nothing of Fermata.
 */
@NullMarked
package io.fermata.flow.logging;

import org.jspecify.annotations.NullMarked;
