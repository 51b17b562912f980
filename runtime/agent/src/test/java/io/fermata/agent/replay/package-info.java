@NullMarked
package io.fermata.agent.replay;

import org.jspecify.annotations.NullMarked;
