package io.fermata.mcp;

/** Serves the fake host until it is killed, to try out clients and to measure by hand. */
final class NoopServer {
  private NoopServer() {}

  public static void main(String[] args) throws InterruptedException {
    McpServerBuilder builder = McpServer.serving(new FakeHost()).name("noop").version("1");
    if (args.length == 0) {
      builder.stdio(System.in, System.out).awaitEnd();
    } else {
      builder.port(Integer.parseInt(args[0])).start();
    }
  }
}
