@NullMarked
package io.fermata.examples.flows;

import org.jspecify.annotations.NullMarked;
