@NullMarked
package io.fermata.bench.crash;

import org.jspecify.annotations.NullMarked;
