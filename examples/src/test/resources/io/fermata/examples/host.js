// A host of MCP Apps, as small as one can be: it calls the tools of a server, renders their pages in two frames of another
// origin, and passes on what the pages ask. `host` is what tests hold on to.
const REVISION = '2026-07-28', UI = 'io.modelcontextprotocol/ui', PAGE = 'text/html;profile=mcp-app';
const SANDBOX = new URLSearchParams(location.search).get('sandbox');
let lastId = 0;

async function mcp(method, params) {
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': REVISION, 'Mcp-Method': method };
  if (params.name ?? params.uri) headers['Mcp-Name'] = params.name ?? params.uri;
  const _meta = { ...params._meta, 'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientInfo': { name: 'host', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { extensions: { [UI]: { mimeTypes: [PAGE] } } } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params: { ...params, _meta } });
  const { result, error } = await (await fetch('/mcp', { method: 'POST', headers, body })).json();
  if (error) throw Object.assign(new Error(error.message), { code: error.code });
  return result;
}

const LOOKS = {
  '--color-background-primary': 'light-dark(#ffffff, #1b1b22)', '--color-text-primary': 'light-dark(#1c1c22, #ececf1)',
  '--font-sans': '"Helvetica Neue", Arial, sans-serif',
};

const host = {
  /** What the page sent, what it called, what it said in the user's place, and what it let the model know. */
  received: [], calls: [], said: [], known: [],

  /** A conversation as a model would have it, up to the widget. */
  async converse(words, flow, updates) {
    const user = document.createElement('div');
    user.className = 'user';
    user.textContent = words;
    document.getElementById('talk').append(user);
    const { structuredContent: asked } = await mcp('tools/call', { name: flow, arguments: { action: 'start', intent: words, stateUpdates: updates } });
    if (asked.status !== 'widget') throw new Error(JSON.stringify(asked));
    host.session = asked.sessionId;
    await host.show(asked.tool, { ...asked.data, sessionId: asked.sessionId });
  },

  async show(name, args, context = {}) {
    const { tools } = await mcp('tools/list', {});
    const uri = tools.find(tool => tool.name === name)._meta.ui.resourceUri;
    const { contents: [page, ...others] } = await mcp('resources/read', { uri });
    if (page.mimeType !== PAGE || others.length) throw new Error(`${uri} is no page`);
    const box = document.createElement('div'), frame = document.createElement('iframe');
    box.className = 'widget';
    frame.setAttribute('sandbox', 'allow-scripts allow-same-origin');
    frame.src = `${SANDBOX}/sandbox.html?csp=${encodeURIComponent(JSON.stringify(page._meta.ui.csp))}`;
    const post = message => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, SANDBOX);
    const answers = {
      'ui/initialize': () => ({ protocolVersion: '2026-01-26', hostInfo: { name: 'host', version: '1' },
        hostCapabilities: { serverTools: {} }, hostContext: { theme: 'light', styles: { variables: LOOKS }, locale: 'en-US', ...context } }),
      'tools/call'(params) {
        const called = tools.find(tool => tool.name === params.name);
        if (!(called?._meta?.ui?.visibility ?? ['app']).includes('app')) throw new Error(`${params.name} is not for pages`);
        host.calls.push(params);
        return mcp('tools/call', params);
      },
      'ui/message': params => (host.said.push(params.content[0].text), {}),
      'ui/update-model-context': params => (host.known.push(params.content[0].text), {}),
    };
    const handlers = {
      'ui/notifications/sandbox-proxy-ready': () => post({ method: 'ui/notifications/sandbox-resource-ready',
        params: { html: page.text, sandbox: 'allow-scripts', csp: page._meta.ui.csp } }),
      async 'ui/notifications/initialized'() {
        post({ method: 'ui/notifications/tool-input', params: { arguments: args } });
        post({ method: 'ui/notifications/tool-result', params: await mcp('tools/call', { name, arguments: args }) });
      },
      'ui/notifications/size-changed': ({ height }) => { frame.style.height = `${height}px`; },
    };
    let torn;
    addEventListener('message', async ({ source, origin, data }) => {
      if (source !== frame.contentWindow || origin !== SANDBOX) return;
      if (!data.method) return torn(data.result);
      host.received.push(data.method);
      if (data.id === undefined) return handlers[data.method]?.(data.params);
      try {
        if (!answers[data.method]) throw Object.assign(new Error('Method not found'), { code: -32601 });
        post({ id: data.id, result: await answers[data.method](data.params) });
      } catch (e) {
        post({ id: data.id, error: { code: e.code ?? -32000, message: e.message } });
      }
    });
    host.changed = change => post({ method: 'ui/notifications/host-context-changed', params: change });
    host.teardown = () => new Promise(resolve => {
      torn = resolve;
      post({ id: 'teardown', method: 'ui/resource-teardown', params: { reason: 'over' } });
    });
    box.append(frame);
    document.getElementById('talk').append(box);
  },

  dark() {
    document.documentElement.style.colorScheme = 'dark';
    host.changed({ theme: 'dark' });
  },
};
