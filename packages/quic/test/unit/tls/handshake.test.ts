import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import {
  CLIENT_PARAMETERS,
  SERVER_PARAMETERS,
  SILENT,
  authority,
  carry,
  clientSide,
  clientTls,
  converse,
  named,
  serverSide,
  serverTls,
  shake,
  type Role,
} from '../../../../../test/support/quic/tls/tls-peers.ts';

function assertComplete(client: Role, server: Role): void {
  assert.equal(client.tls.failure, undefined);
  assert.equal(server.tls.failure, undefined);
  assert.ok(client.tls.isComplete && server.tls.isComplete);
  for (const level of ['handshake', 'application']) {
    assert.ok(client.secrets.get(`${level} read`));
    assert.equal(client.secrets.get(`${level} read`), server.secrets.get(`${level} write`));
    assert.equal(client.secrets.get(`${level} write`), server.secrets.get(`${level} read`));
  }
}

test('a client and a server agree on secrets, and get the parameters of each other', () => {
  using pair = shake({});
  const { client, server } = pair;
  assertComplete(client, server);
  assert.equal(server.peerParameters, CLIENT_PARAMETERS);
  assert.equal(client.peerParameters, SERVER_PARAMETERS);
});

test('secrets of a level come before the data that needs them, and completion comes last', () => {
  using pair = shake({});
  for (const { events } of [pair.client, pair.server]) {
    assert.equal(events.filter((event) => event === 'complete').length, 1);
    assert.equal(events.at(-1), 'complete');
    assert.ok(events.indexOf('secret handshake write') < events.indexOf('data handshake'));
    assert.ok(events.includes('secret application write'));
  }
});

for (const size of [1, 3, 100, 333]) {
  test(`CRYPTO data may come in pieces of ${size} bytes`, () => {
    using client = clientSide(clientTls());
    using server = serverSide(serverTls());
    converse(client, server, size);
    assertComplete(client, server);
  });
}

test('connections that take turns do not disturb each other', () => {
  using ours = clientTls();
  using theirs = serverTls();
  const pairs = Array.from({ length: 5 }, () => [clientSide(ours), serverSide(theirs)] as const);
  for (const [client] of pairs) client.tls.start();
  let moved = true;
  while (moved) {
    moved = false;
    for (const [client, server] of pairs) moved = carry(client, server, 500) || moved;
    for (const [client, server] of pairs) moved = carry(server, client, 700) || moved;
  }
  for (const [client, server] of pairs) assertComplete(client, server);
  const secrets = pairs.map(([client]) => client.secrets.get('application read'));
  assert.equal(new Set(secrets).size, pairs.length);
  for (const side of pairs.flat()) side[Symbol.dispose]();
});

test('a handler may give data to another connection at once', () => {
  using ours = clientTls();
  using theirs = serverTls();
  using server = serverSide(theirs, {
    onCryptoData: (level, bytes) => client.tls.receive(level, bytes),
  });
  using client = clientSide(ours, {
    onCryptoData: (level, bytes) => server.tls.receive(level, bytes),
  });
  client.tls.start();
  assertComplete(client, server);
});

const SUITES = [
  { name: 'TLS_AES_128_GCM_SHA256', number: 0x1301, secret: 32 },
  { name: 'TLS_AES_256_GCM_SHA384', number: 0x1302, secret: 48 },
  { name: 'TLS_CHACHA20_POLY1305_SHA256', number: 0x1303, secret: 32 },
];

for (const { name, number, secret } of SUITES) {
  test(`a client that offers only ${name} gets it`, () => {
    using pair = shake({ cipherSuites: name });
    const { client, server } = pair;
    assertComplete(client, server);
    assert.equal(client.cipherSuite, number);
    assert.equal(server.cipherSuite, number);
    assert.equal(client.secrets.get('application read')?.length, 2 * secret);
  });
}

test('a server follows the order of cipher suites of the client', () => {
  using pair = shake({ cipherSuites: 'TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256' });
  assert.equal(pair.server.cipherSuite, 0x1303);
});

test('a key share that the server does not take leads to a second ClientHello', () => {
  using pair = shake({ groups: 'P-256:X25519' }, undefined, { groups: 'X25519' });
  const { client, server } = pair;
  assertComplete(client, server);
  for (const { events } of [client, server]) {
    assert.equal(events.filter((event) => event === 'data initial').length, 2);
  }
});

test('peers without a common key exchange end with handshake_failure', () => {
  using pair = shake({ groups: 'P-256' }, undefined, { groups: 'X25519' });
  assert.equal(pair.server.alert, 40);
  assert.equal(pair.client.tls.isComplete, false);
});

test('a ClientHello offers a hybrid key exchange, and no session id (RFC 9001 §8.4)', () => {
  using client = clientSide(clientTls());
  client.tls.start();
  const hello = Buffer.concat(client.out.map(({ bytes }) => bytes));
  // Type, length, version and random number come first.
  assert.equal(hello[4 + 2 + 32], 0);
  // A key share of X25519MLKEM768: the group and 1,216 bytes.
  assert.ok(hello.includes(Buffer.from('11ec04c0', 'hex')));
});

test('a server sends the certificates behind the leaf as well', () => {
  const { cert, key } = named;
  using server = serverSide(serverTls({ cert: `${cert}${authority.cert}`, key }));
  using client = clientSide(clientTls());
  client.tls.start();
  carry(client, server);
  const sent = Buffer.concat(server.out.map(({ bytes }) => bytes));
  for (const pem of [cert, authority.cert]) {
    assert.ok(sent.indexOf(new X509Certificate(pem).raw) > 0);
  }
});

test('a server sends no session tickets', () => {
  using pair = shake({});
  assert.ok(!pair.server.events.includes('data application'));
});

test('a client ignores the session tickets of a server', () => {
  using pair = shake({});
  const before = pair.client.events.length;
  // NewSessionTicket (RFC 8446 §4.6.1): lifetime, age, nonce, ticket, no extensions.
  const body = Buffer.from('00000e100000000001000004000102030000', 'hex');
  const ticket = Buffer.concat([Buffer.of(4, 0, 0, body.length), body]);
  pair.client.tls.receive('application', Buffer.concat([ticket, ticket]));
  for (const byte of ticket) pair.client.tls.receive('application', Buffer.of(byte));
  assert.equal(pair.client.tls.failure, undefined);
  assert.equal(pair.client.events.length, before);
});

test('a hundred handshakes in a row succeed', () => {
  using ours = clientTls();
  using theirs = serverTls();
  for (let i = 0; i < 100; i++) {
    using client = clientSide(ours);
    using server = serverSide(theirs);
    converse(client, server);
    assertComplete(client, server);
  }
});

test('handshakes go on when their contexts are disposed of', () => {
  const ours = clientTls();
  const theirs = serverTls();
  using client = clientSide(ours);
  using server = serverSide(theirs);
  ours[Symbol.dispose]();
  theirs[Symbol.dispose]();
  converse(client, server);
  assertComplete(client, server);
  assert.throws(() => ours.createHandshake(SILENT), { name: 'NativeError' });
  assert.throws(() => theirs.createHandshake(SILENT), { name: 'NativeError' });
});
