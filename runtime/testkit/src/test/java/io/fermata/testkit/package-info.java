@NullMarked
package io.fermata.testkit;

import org.jspecify.annotations.NullMarked;
