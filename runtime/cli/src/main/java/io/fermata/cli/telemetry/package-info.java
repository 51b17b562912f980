/** What the server writes about itself: its log lines and its meters. */
@NullMarked
package io.fermata.cli.telemetry;

import org.jspecify.annotations.NullMarked;
