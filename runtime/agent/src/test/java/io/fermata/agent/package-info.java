@NullMarked
package io.fermata.agent;

import org.jspecify.annotations.NullMarked;
