/**
 * The administration of a host: threads, runs, schedules, retention, erasure, keys, import and
 * export.
 */
@NullMarked
package io.fermata.session.admin;

import org.jspecify.annotations.NullMarked;
