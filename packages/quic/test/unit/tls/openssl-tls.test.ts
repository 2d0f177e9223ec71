import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pair } from '../../../../../test/support/quic/pair.ts';
import {
  converse,
  Role,
  authority,
  named,
  SERVER_PARAMETERS,
} from '../../../../../test/support/quic/tls/tls-peers.ts';
import { OpenSslClientTls, OpenSslServerTls } from '../../../src/system.ts';

const credentials = { certificates: named.cert, key: named.key };
const server = { name: 'test.example', trusted: [authority.cert] };

/** Both sides of TLS, with these application protocols. */
const tlsOf = (offered: readonly string[], accepted: readonly string[]) => ({
  clientTls: new OpenSslClientTls({ ...server, protocols: offered }),
  serverTls: new OpenSslServerTls({ ...credentials, protocols: accepted }),
});

test('a client and a server connect with a protocol of their own', () => {
  const pair = new Pair(tlsOf(['example/7'], ['example/7'])).connect();
  assert.equal(pair.client.connection.state, 'confirmed');
  assert.equal(pair.server.connection.state, 'confirmed');
});

test('a client that offers a protocol among others of the server is accepted', () => {
  new Pair(tlsOf(['h3', 'old'], ['new', 'old'])).connect();
});

test('a server chooses by its own preference', () => {
  using client = new OpenSslClientTls({ ...server, protocols: ['old', 'new'] });
  using accepting = new OpenSslServerTls({ ...credentials, protocols: ['new', 'old'] });
  using ours = new Role((events) => client.createHandshake(events));
  using theirs = new Role((events) => accepting.createHandshake(events));
  for (const { tls } of [ours, theirs]) {
    tls.setTransportParameters(Buffer.from(SERVER_PARAMETERS, 'hex'));
  }
  converse(ours, theirs);
  assert.ok(ours.tls.isComplete && theirs.tls.isComplete);
});

test('a client without a protocol of the server gets no_application_protocol (RFC 9001 §8.1)', () => {
  const pair = new Pair(tlsOf(['example/7'], ['example/8', 'h3']));
  pair.run(() => pair.client.connection.closeReason !== undefined);
  for (const [by, { connection }] of [
    ['peer', pair.client],
    ['self', pair.server],
  ] as const) {
    assert.deepEqual(connection.closeReason, {
      kind: 'transport',
      by,
      code: 0x178,
      reason: 'the peer offers no supported application protocol',
    });
  }
});

for (const protocols of [[], [''], ['x'.repeat(256)], ['é'.repeat(3), '→']]) {
  test(`TLS with the protocols ${JSON.stringify(protocols).slice(0, 20)} is not created`, () => {
    const error = { code: 'tls', message: /^QUIC needs application protocols/ };
    assert.throws(() => new OpenSslClientTls({ ...server, protocols }), error);
    assert.throws(() => new OpenSslServerTls({ ...credentials, protocols }), error);
  });
}
