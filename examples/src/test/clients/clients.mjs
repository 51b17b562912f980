// The MCP clients under test. A target is an endpoint, or the words of a command as a JSON array, which is started for each connection.
const INFO = { name: 'quote-test', version: '1' };
// A server that is started for a connection may take long on a busy machine.
const WAITS = { timeout: 300_000 };
const FORMS = { capabilities: { elicitation: { form: {} } } };

/** Connects a client; it shows forms if it is given what fills them in. */
export function connect(name, target, fill) {
  const words = target.startsWith('[') ? JSON.parse(target) : undefined;
  const command = words && { command: words[0], args: words.slice(1), stderr: 'ignore' };
  return name === 'v1' ? v1(target, command, fill) : v2(name, target, command, fill);
}

async function v1(target, command, fill) {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const client = new Client(INFO, fill && FORMS);
  if (fill) {
    const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
    client.setRequestHandler(ElicitRequestSchema, fill);
  }
  if (command) {
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    await client.connect(new StdioClientTransport(command), WAITS);
  } else {
    const { StreamableHTTPClientTransport } = await import(
      '@modelcontextprotocol/sdk/client/streamableHttp.js'
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(target)), WAITS);
  }
  return client;
}

async function v2(name, target, command, fill) {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const era = name === 'v2-modern' && { versionNegotiation: { mode: { pin: '2026-07-28' } } };
  const client = new Client(INFO, { ...(fill && FORMS), ...era });
  if (fill) {
    client.setRequestHandler('elicitation/create', fill);
  }
  if (command) {
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
    await client.connect(new StdioClientTransport(command), WAITS);
  } else {
    await client.connect(new StreamableHTTPClientTransport(new URL(target)), WAITS);
  }
  return client;
}
