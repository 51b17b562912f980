/** Telemetry and delivery to recorders. Knows no exporter. */
@NullMarked
package io.fermata.session.observe;

import org.jspecify.annotations.NullMarked;
