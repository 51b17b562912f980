@NullMarked
package io.fermata.bench;

import org.jspecify.annotations.NullMarked;
