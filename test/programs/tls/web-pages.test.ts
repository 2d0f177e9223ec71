import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { portOf, type Address } from '../../support/data/address.ts';
import { without } from '../../support/programs/peers.ts';
import { Weir } from '../../support/process/weir.ts';
import { certificate, SERVER_NAME } from '../../support/ways/certificate.ts';
import { secureConfig } from '../support/secure-inbounds.ts';
import { startCaddy } from '../support/web-servers.ts';

const request = (line: string, ...fields: readonly string[]): string =>
  [line, `Host: ${SERVER_NAME}`, ...fields, '', ''].join('\r\n');

const UPGRADE = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13'];
const CLOSE = request('GET / HTTP/1.1', 'Connection: close');

/** Each ends the connection, after one response or several. */
const PROBES: readonly (readonly [what: string, bytes: string])[] = [
  ['a page', CLOSE],
  ['two pages', request('GET / HTTP/1.1') + CLOSE],
  ['the head of a page, and a page', request('HEAD /x HTTP/1.1') + CLOSE],
  ['a page by HTTP/1.0', request('GET / HTTP/1.0')],
  ['another method', request('BREW / HTTP/1.1', 'Connection: close')],
  [
    'an upgrade at another path, and a page',
    request('GET /x HTTP/1.1', ...UPGRADE, 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==') + CLOSE,
  ],
  ['no request', 'GARBAGE\r\n\r\n'],
  ['a field without a colon', request('GET / HTTP/1.1', 'foo')],
];

/** What Caddy alone has: its name, and the address of its HTTP/3. */
const OWN = /^(?:Server|Alt-Svc): /;

async function responsesOf(server: Address, bytes: string): Promise<string[]> {
  const { ca } = certificate();
  const socket = connect({ host: '127.0.0.1', port: portOf(server), servername: SERVER_NAME, ca });
  const received: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => received.push(chunk));
  socket.write(bytes);
  await once(socket, 'end');
  socket.destroy();
  const lines = String(Buffer.concat(received)).split('\r\n');
  return lines
    .filter((line) => !OWN.test(line))
    .map((line) => line.replace(/^Date: .*GMT$/, 'Date'));
}

test(
  'a prober sees of a WebSocket inbound what it sees of Caddy with the page of Go',
  { skip: without('caddy') },
  async (t) => {
    await using weir = await Weir.start(secureConfig());
    await using caddy = await startCaddy();
    for (const [what, bytes] of PROBES) {
      await t.test(what, async () => {
        const expected = await responsesOf(caddy.address, bytes);
        assert.match(expected[0] ?? '', /^HTTP\/1\.[01] 40/);
        assert.deepEqual(await responsesOf(weir.address('ws'), bytes), expected);
      });
    }
  },
);
