package io.fermata.mcp;

/** Serves the fake host until it is killed, for trying out clients and for measuring by hand. */
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
