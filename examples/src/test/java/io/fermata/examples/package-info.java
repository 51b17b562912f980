@NullMarked
package io.fermata.examples;

import org.jspecify.annotations.NullMarked;
