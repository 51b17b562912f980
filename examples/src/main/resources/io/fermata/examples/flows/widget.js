// Shared by the pages: the user chooses one of several cards, and the page answers the flow that asked.
// A page calls widget({ flow, field, tool, example, texts, heading(data, t), cards(data, t), done(result, card, t) });
// `texts` has the page's texts by language, `t` is the one of the client's locale, or the English one.
// It talks with its client as MCP Apps defines it (JSON-RPC by postMessage), or through ChatGPT's window.openai.
'use strict';

/** The texts of all pages, by language; a page adds its own. */
const TEXTS = {
  en: {
    preview: 'Preview. ', alone: 'An MCP client shows this page in a conversation, with the data of the flow; here it is opened alone, with an example. What you choose is sent to nobody.',
    choose: name => `Choose ${name}`, sending: name => `Sending ${name}`, retry: name => `Try ${name} again`,
    wouldSend: name => `In a conversation, ${name} would now be sent to the flow:`,
    lost: why => `That did not arrive: ${why}.`, noReason: 'the client gave no reason', refused: 'The server did not take that.',
    type: name => `That did not arrive. Type "${name}" in the chat instead.`,
    noted: name => `${name} is noted; the assistant continues.`, notified: name => `${name}: the assistant has been notified.`,
    chosen: name => `${name} was chosen.`, nothing: 'There is nothing to show.', stopped: 'The assistant stopped before there was anything to show.',
  },
  de: {
    preview: 'Vorschau. ', alone: 'Ein MCP-Client zeigt diese Seite in einem Gespräch, mit den Daten des Ablaufs; hier ist sie allein geöffnet, mit einem Beispiel. Ihre Wahl wird niemandem gesendet.',
    choose: name => `${name} wählen`, sending: name => `${name} wird gesendet`, retry: name => `${name} erneut versuchen`,
    wouldSend: name => `In einem Gespräch würde ${name} jetzt an den Ablauf gesendet:`,
    lost: why => `Das ist nicht angekommen: ${why}.`, noReason: 'der Client nannte keinen Grund', refused: 'Der Server hat das nicht angenommen.',
    type: name => `Das ist nicht angekommen. Schreiben Sie stattdessen „${name}“ in den Chat.`,
    noted: name => `${name} ist notiert; der Assistent macht weiter.`, notified: name => `${name}: Der Assistent weiß Bescheid.`,
    chosen: name => `${name} wurde gewählt.`, nothing: 'Es gibt nichts zu zeigen.', stopped: 'Der Assistent hat aufgehört, bevor es etwas zu zeigen gab.',
  },
};

/** An element with attributes and children. */
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  Object.entries(attributes ?? {}).forEach(([name, value]) => made.setAttribute(name, value));
  made.append(...children.filter(Boolean));
  return made;
}

/** The client: its messages are dispatched to `handlers`. */
function clientOf(name, handlers) {
  const host = window.parent, framed = host !== window;
  const open = new Map();
  let lastId = 0, speaksApps = false;
  const post = message => host.postMessage({ jsonrpc: '2.0', ...message }, '*');
  const request = (method, params) => new Promise((resolve, reject) => {
    open.set(++lastId, { resolve, reject });
    post({ id: lastId, method, params });
  });
  const notifications = {
    'ui/notifications/tool-input': params => handlers.asked(params?.arguments),
    'ui/notifications/tool-result': params => handlers.result(params),
    'ui/notifications/tool-cancelled': () => handlers.cancelled(),
    'ui/notifications/host-context-changed': params => handlers.context(params),
  };
  const asked = { 'ui/resource-teardown': () => handlers.teardown(), ping: () => {} };

  function listen({ source, data: message }) {
    if (source !== host || message?.jsonrpc !== '2.0') return;
    const { id, method, params, result, error } = message;
    if (!method) {
      const waiting = open.get(id);
      open.delete(id);
      error ? waiting?.reject(Object.assign(new Error(error.message), error)) : waiting?.resolve(result);
    } else if (id === undefined) notifications[method]?.(params);
    else if (asked[method]) post({ id, result: asked[method](params) ?? {} });
    else post({ id, error: { code: -32601, message: `This page does not know ${method}.` } });
  }

  function globals() {
    const { theme, locale, toolInput, toolOutput, widgetState, safeArea } = window.openai;
    handlers.context({ theme, locale, safeAreaInsets: safeArea?.insets });
    if (toolInput ?? toolOutput) handlers.data({ ...toolInput, ...toolOutput });
    if (widgetState?.chosen) handlers.chosen(widgetState.chosen);
  }

  return {
    connect() {
      if (window.openai) {
        addEventListener('openai:set_globals', globals);
        globals();
      }
      if (!framed) return void (window.openai || handlers.nobody());
      addEventListener('message', listen);
      request('ui/initialize', {
        protocolVersion: '2026-01-26', appInfo: { name, version: '1' }, appCapabilities: { availableDisplayModes: ['inline'] },
      }).then(answer => {
        speaksApps = true;
        handlers.context(answer?.hostContext);
        post({ method: 'ui/notifications/initialized' });
        handlers.ready();
      }, () => {});
      setTimeout(() => speaksApps || window.openai || handlers.nobody(), 3000);
    },
    call: (tool, args, callId) => speaksApps || !window.openai
      ? request('tools/call', { name: tool, arguments: args, _meta: { 'fermata/callId': callId } })
      : window.openai.callTool(tool, args),
    /** Sends a message in the user's place, which gives the model a turn. */
    say: text => speaksApps || !window.openai
      ? request('ui/message', { role: 'user', content: [{ type: 'text', text }] })
      : window.openai.sendFollowUpMessage({ prompt: text }),
    /** Adds to the model's context for its next turn. */
    know(text, chosen) {
      if (speaksApps) request('ui/update-model-context', { content: [{ type: 'text', text }] }).catch(() => {});
      window.openai?.setWidgetState?.({ chosen });
    },
    resized(width, height) {
      if (speaksApps) post({ method: 'ui/notifications/size-changed', params: { width, height } });
      else window.openai?.notifyIntrinsicHeight?.(height);
    },
  };
}

function widget(page) {
  const title = el('h1', { id: 'title' }, document.title), lead = el('p', { id: 'lead' });
  const preview = el('p', { id: 'preview', hidden: '' });
  const choices = el('fieldset', { 'aria-labelledby': 'title', 'aria-describedby': 'lead', role: 'radiogroup' });
  const note = el('p', { id: 'note', role: 'status', 'aria-live': 'polite', tabindex: '-1' });
  const send = el('button', { id: 'send', type: 'button', hidden: '' });
  const main = el('main', {}, preview, el('header', {}, title, lead), choices, el('footer', {}, note, send));
  const empty = () => [1, 2, 3].map(() => el('div', { class: 'card empty', 'aria-hidden': 'true' }));
  choices.append(...empty());
  document.body.append(main);

  let data, asked, cards = [], chosen, alone = false, pending, t;

  /** Texts follow the locale as numbers do. */
  function speak(locale) {
    try {
      widget.locale = Intl.getCanonicalLocales(locale)[0];
    } catch {
      return;
    }
    const language = (widget.locale ?? navigator.language).split('-')[0];
    const spoken = TEXTS[language] && page.texts[language] ? language : 'en';
    t = { ...TEXTS[spoken], ...page.texts[spoken] };
    document.documentElement.lang = spoken;
    document.title = t.title;
    if (!data) title.textContent = t.title;
    preview.replaceChildren(el('span', {}, el('b', {}, t.preview), t.alone));
  }
  speak();

  function phase(now, text = '') {
    main.dataset.phase = now;
    const waiting = now === 'choosing' || now === 'failed';
    // What is disabled or removed loses the focus to the body, and its user the place.
    const held = main.contains(document.activeElement);
    send.setAttribute('aria-disabled', !waiting);
    send.hidden = !(waiting || now === 'sending') || cards.length === 0;
    note.setAttribute('role', now === 'failed' || now === 'refused' ? 'alert' : 'status');
    main.setAttribute('aria-busy', now === 'sending');
    note.replaceChildren(...[text].flat());
    const name = cards.find(card => card.id === chosen)?.name;
    send.textContent = now === 'sending' ? t.sending(name) : now === 'failed' ? t.retry(name) : t.choose(name);
    if (held && now === 'sending') send.focus({ preventScroll: true });
    if (held && send.hidden) note.focus({ preventScroll: true });
    choices.disabled = !waiting;
  }

  function draw() {
    const { title: said, lead: more } = page.heading(data, t);
    title.textContent = said;
    lead.textContent = more ?? '';
    cards = page.cards(data, t);
    const held = choices.contains(document.activeElement);
    if (!cards.some(card => card.id === chosen)) chosen = (cards.find(card => card.badge) ?? cards[0])?.id;
    choices.replaceChildren(...cards.map(card => {
      const input = el('input', { type: 'radio', name: 'choice', value: card.id });
      input.checked = card.id === chosen;
      input.onchange = () => pick(card.id);
      input.addEventListener('keydown', event => event.key === 'Enter' && answer());
      return el('label', { class: 'card', 'data-id': card.id }, input,
        card.badge && el('span', { class: 'badge' }, card.badge), el('span', { class: 'mark' }),
        el('span', { class: 'name' }, card.icon, card.name), ...card.lines);
    }));
    if (held) choices.querySelector(':checked')?.focus({ preventScroll: true });
    // What was sent stays selected when the cards are drawn again.
    if (!['sending', 'done', 'noted'].includes(main.dataset.phase)) choosing();
  }

  function choosing() {
    phase('choosing', cards.find(card => card.id === chosen)?.hint);
  }

  function pick(id) {
    chosen = id;
    pending = undefined;
    choosing();
  }

  async function answer() {
    if (send.getAttribute('aria-disabled') === 'true' || send.hidden) return;
    const card = cards.find(each => each.id === chosen);
    const args = { action: 'continue', stateUpdates: { [page.field]: card.id } };
    if (data.sessionId) args.sessionId = data.sessionId;
    if (alone) return phase('noted', [t.wouldSend(card.name), el('code', {}, `${page.flow} ${JSON.stringify(args)}`)]);
    phase('sending');
    // A repeated attempt keeps its call id, so that a lost reply is fetched and nothing happens twice.
    pending ??= `${page.tool} ${Date.now()} ${Math.random()}`;
    let said;
    try {
      said = structured(await client.call(page.flow, args, pending));
      pending = undefined;
    } catch (e) {
      return e.code === -32601 ? askModel(card) : failed(t.lost(e.message || t.noReason));
    }
    if (said.status === 'error') return said.code === 'missing_session' ? askModel(card) : failed(said.error ?? t.refused);
    if (said.status === 'widget' && said.tool === page.tool) {
      main.dataset.phase = '';
      data = { sessionId: data.sessionId };
      return show(said.data);
    }
    client.know(`The user chose ${page.field} = ${card.id} in the widget, which answered the flow ${page.flow}. Its reply: ${JSON.stringify(said)}`, card.id);
    if (said.status === 'complete') return phase('done', page.done(said.result ?? {}, card, t));
    phase('noted', said.question ?? t.noted(card.name));
    client.say(`I chose ${card.name}.`).catch(() => {});
  }

  /** The reply of the flow, in any form in which clients pass it on. */
  function structured(result) {
    if (result?.structuredContent) return result.structuredContent;
    const text = result?.content?.[0]?.text ?? result?.result;
    try {
      return JSON.parse(text);
    } catch {
      return { status: 'error', error: text };
    }
  }

  function failed(text) {
    phase('failed', text);
    send.focus({ preventScroll: true });
  }

  /** Without a session, the page asks the model to answer the flow. */
  function askModel(card) {
    client.say(`I choose ${card.name} (${page.field}: ${card.id}).`).then(
      () => phase('noted', t.notified(card.name)),
      () => failed(t.type(card.name)));
  }

  function show(given) {
    data = { ...data, ...given };
    draw();
  }

  /** Takes data of a client, which may come repeatedly, or after the preview is shown. */
  function live(given) {
    wake();
    if (JSON.stringify({ ...data, ...given }) !== JSON.stringify(data)) show(given);
  }

  /** A client is there after all. */
  function wake() {
    if (alone) {
      alone = false;
      preview.hidden = true;
      blank();
    }
  }

  function blank() {
    data = undefined;
    cards = [];
    title.textContent = t.title;
    lead.textContent = '';
    choices.replaceChildren(...empty());
  }

  /** What a call was refused for is not shown as if it were true. */
  function refused(text) {
    wake();
    blank();
    phase('refused', text || t.nothing);
  }

  const client = clientOf(page.tool, {
    ready: () => measure(),
    /** The arguments of a call; only its result says whether they are accepted. */
    asked(given) {
      wake();
      asked = given;
    },
    data: given => given && live(given),
    result: result => result?.isError ? refused(result.content?.[0]?.text) : live({ ...asked, ...result?.structuredContent }),
    chosen(id) {
      if (main.dataset.phase === 'done') return;
      chosen = id;
      main.dataset.phase = 'done';
      if (data) draw();
      phase('done', t.chosen(cards.find(card => card.id === id)?.name ?? id));
    },
    cancelled: () => data || phase('gone', t.stopped),
    teardown: () => observer.disconnect(),
    nobody() {
      if (data || asked) return;
      alone = true;
      preview.hidden = false;
      show(page.example);
    },
    context(context) {
      const root = document.documentElement;
      if (context?.theme) root.style.colorScheme = context.theme;
      Object.entries(context?.styles?.variables ?? {})
        .forEach(([name, value]) => name.startsWith('--') && value != null && root.style.setProperty(name, value));
      if (context?.styles?.css?.fonts) document.head.append(el('style', {}, context.styles.css.fonts));
      const { top = 0, right = 0, bottom = 0, left = 0 } = context?.safeAreaInsets ?? {};
      if (context?.safeAreaInsets) document.body.style.padding = `${top}px ${right}px ${bottom}px ${left}px`;
      if (context?.locale) speak(context.locale);
      if (context?.locale && data) draw();
    },
  });

  send.onclick = answer;
  const measure = () => client.resized(window.innerWidth, Math.ceil(document.body.getBoundingClientRect().height));
  const observer = new ResizeObserver(measure);
  observer.observe(document.body);
  client.connect();
}
