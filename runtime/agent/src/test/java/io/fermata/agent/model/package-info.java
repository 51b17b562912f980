@NullMarked
package io.fermata.agent.model;

import org.jspecify.annotations.NullMarked;
