@NullMarked
package io.fermata.agent.message;

import org.jspecify.annotations.NullMarked;
