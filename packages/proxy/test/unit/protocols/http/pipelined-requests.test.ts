import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { atOnce } from '@weir/io/time';
import { linkPair } from '@weir/io/links';
import { createHttpInbound, httpAccounts } from '../../../../src/protocols/http/inbound.ts';
import { REQUESTS_A_TURN } from '../../../../src/protocols/http/limits.ts';
import {
  carrierOf,
  ScriptedEngine,
  session,
} from '../../../../../../test/support/protocols/http/support.ts';
import { inboundContext } from '../../../../../../test/support/protocols/inbound-context.ts';

const CLIENTS = 3;
const REQUESTS = 1000;

/** Connections with pipelined requests; returns the responses that each has had, which go on to grow. */
function pipeline(request: string, accounts: readonly { user: string; pass: string }[]): number[] {
  const dispatcher = new ScriptedEngine();
  const settings = { accounts, allowTransparent: false };
  const inbound = createHttpInbound(
    atOnce(httpAccounts(settings)),
    inboundContext('http-in', { dispatcher, clock: dispatcher.clock }),
    settings,
  );
  const responses = Array.from({ length: CLIENTS }, () => 0);
  for (const client of responses.keys()) {
    const [near, far] = linkPair();
    void inbound.serve(carrierOf(far), session);
    void near.write(Buffer.from(request.repeat(REQUESTS)));
    void (async () => {
      for (let chunk = await near.read(); chunk; chunk = await near.read()) {
        const count = Buffer.from(chunk).toString().split('HTTP/1.1 ').length - 1;
        responses[client] = (responses[client] ?? 0) + count;
      }
    })();
  }
  return responses;
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
test('pipelined requests of all clients share the turns of the event loop', async () => {
  const responses = pipeline(
    'OPTIONS http://a/ HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n',
    [],
  );
  let most = 0;
  for (let before = 0; sumOf(responses) < CLIENTS * REQUESTS; before = sumOf(responses)) {
    await turn();
    most = Math.max(most, sumOf(responses) - before);
  }
  // The first request of a connection is part of its handshake, and two turns may be seen as one.
  assert.ok(most <= 2 * REQUESTS_A_TURN + CLIENTS, `${most} requests of one turn`);
});

test('a connection ends after a number of requests without a password', async () => {
  const accounts = [{ user: 'mia', pass: 's3cret' }];
  const responses = pipeline('GET / HTTP/1.1\r\nHost: a\r\n\r\n', accounts);
  for (let turns = 0; turns < 100; turns++) await turn();
  assert.deepEqual(responses, [16, 16, 16]);
});
