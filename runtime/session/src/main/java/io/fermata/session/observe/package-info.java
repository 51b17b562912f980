/** What a host reports while it runs. Knows no exporter. */
@NullMarked
package io.fermata.session.observe;

import org.jspecify.annotations.NullMarked;
