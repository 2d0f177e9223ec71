import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ApiClient, ApiClientError, parsePlace } from '../../../src/client/api-client.ts';
import { flowOf } from '../../../../../test/support/dashboard/fake-monitor.ts';

/** A client of a server that is something else than Weir. */
async function clientOf(respond: (response: ServerResponse, path: string) => void) {
  const server = createServer((request, response) => respond(response, request.url ?? ''));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    api: new ApiClient(parsePlace(`127.0.0.1:${port}`), undefined),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Sends `chunk` again and again, as fast as it is taken. */
function pour(response: ServerResponse, chunk: string): void {
  const bytes = Buffer.from(chunk.repeat(Math.ceil((1 << 20) / chunk.length)));
  const more = (): void => {
    if (!response.destroyed) response.write(bytes, () => setImmediate(more));
  };
  more();
}

const failsWith = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ApiClientError);
  assert.match(error.message, message);
  return true;
};

test('a response without an end is not read to its end', async () => {
  await using other = await clientOf((response) => pour(response, ' '));
  await assert.rejects(other.api.ask('GET', '/v1/version'), failsWith(/longer than 128 MB/));
});

test('neither is the text of an error', async () => {
  await using other = await clientOf((response) => {
    response.statusCode = 500;
    pour(response, 'x');
  });
  await assert.rejects(other.api.ask('GET', '/v1/version'), failsWith(/longer than 128 MB/));
});

test('a line of events without an end is not kept', async () => {
  await using other = await clientOf((response) => {
    response.setHeader('Content-Type', 'text/event-stream');
    response.write('event: opened\ndata: ');
    pour(response, 'x');
  });
  const events = other.api.events('/v1/connections/events');
  await assert.rejects(events.next(), failsWith(/a line is longer than/));
});

const FLOW = flowOf(1).view;

const BODIES: readonly (readonly [what: string, path: string, body: unknown])[] = [
  ['a version without a text', '/v1/version', {}],
  ['no version', '/v1/version', null],
  ['a list of routes', '/v1/routes', []],
  ['routes without a default', '/v1/routes', { default: {}, groups: [], targets: [] }],
  [
    'a group whose name is no text',
    '/v1/routes',
    { default: { pick: null, target: null }, groups: [{ name: 1 }], targets: [] },
  ],
  [
    'a host that is no text',
    '/v1/connections',
    { flows: [{ ...FLOW, host: { toString: 1 } }], sessions: [] },
  ],
  ['bytes that are no number', '/v1/connections', { flows: [{ ...FLOW, up: null }], sessions: [] }],
  ['a session that is none', '/v1/connections', { flows: [FLOW], sessions: [null] }],
];

for (const [what, path, body] of BODIES) {
  test(`a response of ${path} with ${what} is not that of the API`, async () => {
    await using other = await clientOf((response) => response.end(JSON.stringify(body)));
    await assert.rejects(other.api.ask('GET', path), failsWith(/is not the API/));
  });
}

test('a list of flows is taken as it is', async () => {
  const body = { flows: [FLOW], sessions: [], more: 1 };
  await using other = await clientOf((response) => response.end(JSON.stringify(body)));
  assert.deepEqual(await other.api.ask('GET', '/v1/connections'), body);
});

for (const [event, what, data] of [
  ['opened', 'no flow', null],
  ['closed', 'an id that is no number', { ...FLOW, id: 'x' }],
  ['lagged', 'no number', {}],
  ['traffic', 'no tags', { tick: 1, up: 1, down: 1 }],
] as const) {
  test(`an event ${event} with ${what} is not that of the API`, async () => {
    await using other = await clientOf((response) => {
      response.setHeader('Content-Type', 'text/event-stream');
      response.end(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    });
    await assert.rejects(other.api.events('/v1/events').next(), failsWith(/is not the API/));
  });
}

test('an error of another server is not taken for one of the API', async () => {
  await using other = await clientOf((response) => {
    response.statusCode = 500;
    response.end('{"error":{"message":"busy"}}');
  });
  await assert.rejects(
    other.api.ask('GET', '/v1/version'),
    failsWith(/^GET \/v1\/version: status 500$/),
  );
});
