/**
 * What a host does as other tools see it: a recorder and a telemetry that speak OpenTelemetry, and
 * a telemetry that counts with Micrometer.
 *
 * <p>It may use flow, the {@link io.fermata.session.observe.Telemetry} of session, and the APIs of
 * OpenTelemetry and Micrometer; which SDK exports the spans, and which system the meters go to, is
 * the application's choice. Nothing else knows those APIs, so that an application without
 * Micrometer needs none.
 */
@NullMarked
package io.fermata.session.telemetry;

import org.jspecify.annotations.NullMarked;
