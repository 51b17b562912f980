// Drives the quote flow through every status with one MCP client: node quote.mjs <client> <target>
import assert from 'node:assert/strict';
import { connect } from './clients.mjs';

const [name, target] = process.argv.slice(2);

async function call(client, args) {
  const result = await client.callTool({ name: 'quote', arguments: args });
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  assert.equal(result.isError === true, result.structuredContent.status === 'error');
  console.log(result.structuredContent.status, result.structuredContent.code ?? '');
  return result.structuredContent;
}

const client = await connect(name, target);
const { tools } = await client.listTools();
const quote = tools.find((tool) => tool.name === 'quote');
assert.deepEqual(quote.inputSchema.required, ['action']);
assert.ok(quote.outputSchema.properties.status);
assert.ok(tools.find((tool) => tool.name === 'show_plans')._meta.ui.resourceUri);

let reply = await call(client, { action: 'start', intent: 'wants a price', stateUpdates: { seats: 3 } });
assert.deepEqual(reply.questions.map((question) => question.field), ['name', 'email']);
assert.equal(reply.context, 'Ask both in one message.');
const { sessionId } = reply;

reply = await call(client, { action: 'continue', sessionId, stateUpdates: { name: 'Ann', email: 'nope' } });
assert.equal(reply.code, 'answer_rejected');
assert.equal(reply.question, "What's your work email?");

reply = await call(client, { action: 'continue', sessionId, stateUpdates: { email: ' Ann@Acme.com ' } });
assert.deepEqual(reply.suggestions, ['1-10', '11-50', '51+']);
await client.close();

// Another connection knows the run by its handle alone.
const later = await connect(name, target);
reply = await call(later, { action: 'continue', sessionId, stateUpdates: { companySize: '51+' } });
assert.equal(reply.tool, 'show_plans');
assert.deepEqual(reply.data, { price: 30, segment: 'company' });
const shown = await later.callTool({ name: reply.tool, arguments: reply.data });
assert.ok(shown.content[0].text.length > 0);

reply = await call(later, { action: 'continue', sessionId, stateUpdates: { selectedPlan: 'gold' } });
assert.deepEqual(reply.result, {
  name: 'Ann',
  email: 'ann@acme.com',
  segment: 'company',
  price: 30,
  selectedPlan: 'gold',
});

reply = await call(later, { action: 'continue', sessionId });
assert.equal(reply.code, 'run_completed');
await assert.rejects(later.callTool({ name: 'nope', arguments: {} }), /nope/);
await later.close();
console.log('all four statuses seen');
