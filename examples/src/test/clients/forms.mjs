// Books a dinner by filling in the forms of its flow with one MCP client: node forms.mjs <client> <target>
import assert from 'node:assert/strict';
import { connect } from './clients.mjs';

const [name, target] = process.argv.slice(2);
const book = { name: 'dinner', arguments: { action: 'start', intent: 'wants to eat' } };

const answers = { name: ['Ann'], email: ['nope', 'Ann@Acme.com'], guests: [3] };
const asked = [];
const client = await connect(name, target, ({ params }) => {
  asked.push(params.message);
  const fields = Object.keys(params.requestedSchema.properties);
  return {
    action: 'accept',
    content: Object.fromEntries(fields.map((field) => [field, answers[field].shift()])),
  };
});
const booked = await client.callTool(book);
assert.deepEqual(asked, [
  'Who comes?\nHow do we reach you?',
  'That is no email.\nHow do we reach you?',
  'How many are you?',
]);
assert.equal(booked.structuredContent.status, 'complete');
assert.deepEqual(booked.structuredContent.result, { name: 'Ann', email: 'ann@acme.com', guests: 3 });
await client.close();

// A user who wants no form is asked in the conversation, which goes on by the handle.
const unwilling = await connect(name, target, () => ({ action: 'decline' }));
const declined = (await unwilling.callTool(book)).structuredContent;
assert.equal(declined.status, 'interrupt');
assert.match(declined.context, /declined/);
await unwilling.close();

const plain = await connect(name, target);
const told = await plain.callTool({
  name: 'dinner',
  arguments: {
    action: 'continue',
    sessionId: declined.sessionId,
    stateUpdates: { name: 'Bo', email: 'bo@acme.com', guests: 2 },
  },
});
assert.equal(told.structuredContent.result.guests, 2);
await plain.close();
console.log('forms filled in');
