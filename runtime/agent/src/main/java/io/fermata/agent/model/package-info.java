/**
 * The port to models: what a turn of an agent asks, whoever answers. langchain4j's clients are the
 * providers; retries, fallbacks, guards against stalls and the account of tokens and money are
 * here. It knows nothing of agents, and starts no thread of its own.
 */
@NullMarked
package io.fermata.agent.model;

import org.jspecify.annotations.NullMarked;
