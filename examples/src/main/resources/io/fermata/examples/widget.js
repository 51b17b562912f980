// What every page of the examples has in common: MCP Apps, JSON-RPC with the host by postMessage.
// The page before it declares FLOW, FIELD, EXAMPLE and render().
const host = window.parent, alone = host === window;
const open = new Map();
let data = {}, lastId = 0;
const element = id => document.getElementById(id);
const post = message => host.postMessage({ jsonrpc: '2.0', ...message }, '*');
const request = (method, params) => new Promise((resolve, reject) => {
  open.set(++lastId, { resolve, reject });
  post({ id: lastId, method, params });
});
const dress = context => {
  if (context?.theme) document.documentElement.style.colorScheme = context.theme;
};
addEventListener('message', ({ source, data: message }) => {
  if (alone || source !== host || message?.jsonrpc !== '2.0') return;
  const { id, method, params, result, error } = message;
  if (!method) {
    const waiting = open.get(id);
    open.delete(id);
    error ? waiting?.reject(new Error(error.message)) : waiting?.resolve(result);
  } else if (method === 'ui/notifications/tool-input') show(params.arguments);
  else if (method === 'ui/notifications/tool-result') show(params.structuredContent);
  else if (method === 'ui/notifications/host-context-changed') dress(params);
  else if (id !== undefined) post({ id, result: {} });
});

function show(given) {
  data = { ...data, ...given };
  render();
  const { scrollWidth: width, scrollHeight: height } = document.documentElement;
  if (!alone) post({ method: 'ui/notifications/size-changed', params: { width, height } });
}

async function choose(id, label) {
  const buttons = [...document.querySelectorAll('button')];
  buttons.forEach(b => { b.disabled = true; b.setAttribute('aria-pressed', b.dataset.id === id); });
  element('note').textContent = `${label} it is …`;
  if (alone) return void (element('note').textContent = `${label}. Opened alone, this page tells nobody.`);
  const chosen = { type: 'text', text: `The user chose ${FIELD} = ${id}.` };
  try {
    const answer = { action: 'continue', stateUpdates: { [FIELD]: id } };
    if (data.sessionId) answer.sessionId = data.sessionId;
    const result = await request('tools/call', { name: FLOW, arguments: answer });
    if (result.isError) throw new Error(result.structuredContent?.error);
    element('note').textContent = `${label}: thank you, that is noted.`;
    const known = { type: 'text', text: `The flow went on: ${JSON.stringify(result.structuredContent)}` };
    request('ui/update-model-context', { content: [chosen, known] }).catch(() => {});
  } catch {
    // Without a session of its own the page asks the model to answer in its place.
    request('ui/message', { role: 'user', content: [{ type: 'text', text: `I choose ${label} (${FIELD}: ${id}).` }] })
      .then(() => { element('note').textContent = `${label}: told the assistant.`; })
      .catch(() => {
        buttons.forEach(b => { b.disabled = false; b.setAttribute('aria-pressed', false); });
        element('note').textContent = `That did not arrive. Try again, or type "${label}" in the chat.`;
      });
  }
}

function card(id, label, ...lines) {
  const button = document.createElement('button');
  button.dataset.id = id;
  button.setAttribute('aria-pressed', false);
  lines.forEach(([tag, text, kind]) => {
    const line = document.createElement(tag);
    line.textContent = text;
    if (kind) line.className = kind;
    button.append(line);
  });
  button.onclick = () => choose(id, label);
  return button;
}

if (alone) show(EXAMPLE);
else request('ui/initialize', {
  protocolVersion: '2026-01-26', appInfo: { name: FLOW, version: '1' }, appCapabilities: {},
}).then(result => { dress(result?.hostContext); post({ method: 'ui/notifications/initialized' }); });
