/**
 * The port to models. The clients of langchain4j connect to providers; this adds retries,
 * fallbacks, stall guards, and accounting of tokens and cost. It may not use agents, and starts no
 * thread.
 */
@NullMarked
package io.fermata.agent.model;

import org.jspecify.annotations.NullMarked;
