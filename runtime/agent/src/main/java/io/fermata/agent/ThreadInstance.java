package io.fermata.agent;

import io.fermata.agent.message.Message;
import io.fermata.agent.state.ChildThread;

/** The thread of a tool or hook. */
public final class ThreadInstance {
  private final FlowState flow;

  public ThreadInstance(FlowState flow) {
    this.flow = flow;
  }

  public String threadId() {
    return flow.threadId();
  }

  /** Its messages, the latest first. */
  public java.util.List<Message> getMessages(int limit, int offset) throws InterruptedException {
    return flow.getMessages(limit, offset);
  }

  public ThreadFiles files() {
    return flow.files();
  }

  public java.util.List<ChildThread> children() {
    return flow.children();
  }
}
