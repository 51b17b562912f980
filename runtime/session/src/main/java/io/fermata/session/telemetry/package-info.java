/**
 * Exporters: a recorder and a telemetry for OpenTelemetry, and a telemetry for Micrometer.
 *
 * <p>It may use flow, {@link io.fermata.session.observe.Telemetry}, and the APIs of OpenTelemetry
 * and Micrometer. The application chooses the SDK and the registry. No other package uses those
 * APIs, so an application without Micrometer does not need it.
 */
@NullMarked
package io.fermata.session.telemetry;

import org.jspecify.annotations.NullMarked;
