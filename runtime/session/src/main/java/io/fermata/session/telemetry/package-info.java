/**
 * Runs as other tools see them: recorders that speak OpenTelemetry.
 *
 * <p>It may use flow and the OpenTelemetry API; which SDK exports the spans is the application's
 * choice.
 */
@NullMarked
package io.fermata.session.telemetry;

import org.jspecify.annotations.NullMarked;
