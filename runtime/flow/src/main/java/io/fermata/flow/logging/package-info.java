/**
 * Failures as they are logged, and what is logged where an application has chosen no SLF4J
 * provider. Uses the texts of {@code json}.
 */
@NullMarked
package io.fermata.flow.logging;

import org.jspecify.annotations.NullMarked;
