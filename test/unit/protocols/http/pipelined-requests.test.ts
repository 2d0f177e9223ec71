import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce } from '../../../../src/net/time/turns.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import { createHttpInbound } from '../../../../src/protocols/http/inbound.ts';
import { REQUESTS_A_TURN } from '../../../../src/protocols/http/limits.ts';
import { carrierOf, ScriptedDispatcher, session } from '../../../support/protocols/http/support.ts';
import { inboundContext } from '../../../support/protocols/inbound-context.ts';

const CLIENTS = 3;
const REQUESTS = 1000;

test('pipelined requests of all clients without a password take few of a turn', async () => {
  const dispatcher = new ScriptedDispatcher();
  const inbound = atOnce(
    createHttpInbound(
      { accounts: [{ user: 'mia', pass: 's3cret' }], allowTransparent: false },
      inboundContext('http-in', { dispatcher, clock: dispatcher.clock }),
    ),
  );
  let rejected = 0;
  for (let client = 0; client < CLIENTS; client++) {
    const [near, far] = linkPair();
    void inbound.serve(carrierOf(far), session);
    void near.write(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(REQUESTS)));
    void (async () => {
      for (let chunk = await near.read(); chunk; chunk = await near.read()) {
        rejected += Buffer.from(chunk).toString().split('HTTP/1.1 407 ').length - 1;
      }
    })();
  }
  let most = 0;
  for (let before = 0; rejected < CLIENTS * REQUESTS; before = rejected) {
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, rejected - before);
  }
  // The first request of a connection is part of its handshake, and two turns may be seen as one.
  assert.ok(most <= 2 * REQUESTS_A_TURN + CLIENTS, `${most} requests of one turn`);
});
