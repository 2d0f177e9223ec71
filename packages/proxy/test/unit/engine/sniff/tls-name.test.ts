import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sniffDomain } from '../../../../src/engine/sniff.ts';
import {
  nodeClientHello,
  OPENSSL,
  refragment,
} from '../../../../../../test/support/engine/sniff/client-hello.ts';

const found = (domain: string | undefined) => ({ done: true, domain });
const MORE = { done: false };

test('the server name of a TLS 1.3 ClientHello of openssl is found, in lower case', () => {
  assert.deepEqual(sniffDomain(OPENSSL.tls13), found('example.com'));
});

test('the server name of a TLS 1.2 ClientHello of openssl is found', () => {
  assert.deepEqual(sniffDomain(OPENSSL.tls12), found('tls12.example.org'));
});

test('a ClientHello without a server name is done without a name', () => {
  assert.deepEqual(sniffDomain(OPENSSL.noName), found(undefined));
});

test('a ClientHello of old, without extensions, is done without a name', () => {
  // Version, random, no session id, one cipher suite, no compression, as TLS 1.0 allows.
  const body = Buffer.concat([Buffer.of(3, 1), Buffer.alloc(32), Buffer.of(0, 0, 2, 0, 47, 1, 0)]);
  const message = Buffer.concat([Buffer.of(1, 0, 0, body.length), body]);
  const record = Buffer.concat([Buffer.of(22, 3, 1, 0, message.length), message]);
  assert.deepEqual(sniffDomain(record), found(undefined));
});

test('the server name of the ClientHello of this Node is found', async () => {
  for (const options of [
    {},
    { maxVersion: 'TLSv1.2' },
    { ALPNProtocols: ['h2', 'http/1.1'] },
  ] as const) {
    const hello = await nodeClientHello({ servername: 'node.example', ...options });
    assert.deepEqual(sniffDomain(hello), found('node.example'));
  }
});

test('a ClientHello spread over several records is put together', () => {
  for (const size of [1, 2, 3, 4, 5, 40, 127, 300]) {
    assert.deepEqual(sniffDomain(refragment(OPENSSL.tls13, size)), found('example.com'));
    assert.deepEqual(sniffDomain(refragment(OPENSSL.noName, size)), found(undefined));
  }
});

test('a ClientHello truncated at any byte asks for more, until the name is there', () => {
  for (const hello of [OPENSSL.tls13, OPENSSL.tls12, refragment(OPENSSL.tls13, 7)]) {
    const whole = sniffDomain(hello);
    let known = false;
    for (let length = 0; length <= hello.length; length++) {
      const sniffed = sniffDomain(hello.subarray(0, length));
      if (known || sniffed.done) assert.deepEqual(sniffed, whole, `after ${length} bytes`);
      known = sniffed.done;
    }
    assert.ok(known);
  }
});

test('the name is found before the rest of a long ClientHello has come', () => {
  const sniffed = sniffDomain(OPENSSL.tls13.subarray(0, 180));
  assert.deepEqual(sniffed, found('example.com'));
});

test('what cannot be a TLS handshake record is ruled out at its first wrong byte', () => {
  for (const hex of ['1602', '160305', '1603010000', '1603014001', '160301000402', '15']) {
    assert.deepEqual(sniffDomain(Buffer.from(hex, 'hex')), found(undefined), hex);
    const before = Buffer.from(hex.slice(0, -2), 'hex');
    if (before.length !== 4) assert.deepEqual(sniffDomain(before), MORE, hex);
  }
});

test('the newest version and the largest record of RFC 8446 are awaited', () => {
  for (const hex of ['160304', '1603014000']) {
    assert.deepEqual(sniffDomain(Buffer.from(hex, 'hex')), MORE, hex);
  }
});

test('another record type in the middle of a ClientHello ends the search', () => {
  const cut = Buffer.concat([refragment(OPENSSL.tls13, 50).subarray(0, 55), Buffer.from([23])]);
  assert.deepEqual(sniffDomain(cut), found(undefined));
});

/** A ClientHello by hand: so many bytes of each part, then the given extensions. */
function hello(extensions: Buffer, declared = extensions.length): Buffer {
  const total = Buffer.alloc(2);
  total.writeUInt16BE(declared);
  const body = Buffer.concat([
    Buffer.alloc(34, 3),
    Buffer.from([0, 0, 2, 0x13, 1, 1, 0]),
    total,
    extensions,
  ]);
  const head = Buffer.from([22, 3, 1, 0, 0, 1, 0, 0, 0]);
  head.writeUInt16BE(body.length + 4, 3);
  head.writeUIntBE(body.length, 6, 3);
  return Buffer.concat([head, body]);
}

/** A server_name extension holding one entry of each `[type, name]`. */
function serverNames(...entries: [number, string][]): Buffer {
  const list = Buffer.concat(
    entries.map(([type, name]) => Buffer.from([type, 0, name.length, ...Buffer.from(name)])),
  );
  return Buffer.concat([Buffer.from([0, 0, 0, list.length + 2, 0, list.length]), list]);
}

const MALFORMED: [string, Buffer][] = [
  ['an extension list longer than the message', hello(serverNames([0, 'a.b']), 60)],
  ['an extension longer than the list', hello(Buffer.from([0, 0, 0, 9, 0, 0]))],
  ['an empty server_name extension', hello(Buffer.from([0, 0, 0, 0]))],
  ['a server name list longer than its extension', hello(Buffer.from([0, 0, 0, 3, 0, 9, 0]))],
  [
    'a server name list one byte longer than its extension',
    hello(Buffer.from([0, 0, 0, 8, 0, 7, 0, 0, 3, ...Buffer.from('a.b')])),
  ],
  ['a name longer than its list', hello(Buffer.from([0, 0, 0, 6, 0, 4, 0, 0, 9, 97]))],
  ['an IP address as server name', hello(serverNames([0, '192.0.2.1']))],
  ['a name with a space', hello(serverNames([0, 'a b']))],
  ['a name of another type only', hello(serverNames([1, 'a.b']))],
  ['no extensions', hello(Buffer.alloc(0))],
  [
    'a session id beyond the message',
    Buffer.from(`1603010028010000240303${'ff'.repeat(33)}`, 'hex'),
  ],
  [
    'nothing after its session id',
    Buffer.from(`1603010027010000230303${'ff'.repeat(32)}00`, 'hex'),
  ],
];
for (const [what, bytes] of MALFORMED) {
  test(`a ClientHello with ${what} has no name`, () => {
    assert.deepEqual(sniffDomain(bytes), found(undefined));
  });
}

test('the host name is found behind entries and extensions of other types', () => {
  const other = Buffer.from([0x7a, 0x7a, 0, 1, 9]);
  const names = serverNames([7, 'x.y'], [0, 'a.b']);
  assert.deepEqual(sniffDomain(hello(Buffer.concat([other, names]))), found('a.b'));
});
