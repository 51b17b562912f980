@NullMarked
package io.fermata.agent.state;

import org.jspecify.annotations.NullMarked;
