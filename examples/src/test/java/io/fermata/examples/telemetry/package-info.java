@NullMarked
package io.fermata.examples.telemetry;

import org.jspecify.annotations.NullMarked;
