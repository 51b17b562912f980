package io.fermata.session;

import io.fermata.agent.Agents;
import io.fermata.agent.Outside;
import io.fermata.agent.ThreadProgram;
import io.fermata.agent.ThreadState;
import io.fermata.persistence.Directory;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * What the sessions of threads share.
 *
 * @param feeds those who watch threads
 * @param outside what the effects of a thread reach, by its id
 * @param state how a thread stands, by its id
 */
record AgentHost(
    ThreadProgram program,
    Directory directory,
    ThreadFeeds feeds,
    Function<String, Outside> outside,
    Function<String, CompletionStage<ThreadState>> state) {

  Agents agents() {
    return program.agents();
  }
}
