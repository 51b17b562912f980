@NullMarked
package io.fermata.agent.engine;

import org.jspecify.annotations.NullMarked;
