import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  carry,
  clientSide,
  clientTls,
  converse,
  serverSide,
  serverTls,
  shake,
  SILENT,
  type Role,
} from '../../../../../test/support/quic/tls/tls-peers.ts';
import { libraryOfProcess } from '../../../../../test/support/quic/tls/tls-peers.ts';

const UNEXPECTED_MESSAGE = 10;
const DECODE_ERROR = 50;
const ILLEGAL_PARAMETER = 47;
const MISSING_EXTENSION = 109;

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

/** Numbers from 0 to 2^32 - 1 that look random, the same in each run. */
function* scrambled(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield (state ^ (state >>> 15)) >>> 0;
  }
}

/** Whether the thread's error queue is empty, so that Node takes no error for its own. */
function assertNoErrorLeft(): void {
  assert.equal(libraryOfProcess().functions.ERR_get_error(), 0);
}

/** A client that has sent its ClientHello, and the bytes of it. */
function startedClient(): Role {
  const client = clientSide(clientTls());
  client.tls.start();
  return client;
}

test('garbage in place of a ClientHello ends with an alert', () => {
  for (const [bytes, alert] of [
    ['0200000501020304ff', UNEXPECTED_MESSAGE],
    ['0100000401020304', DECODE_ERROR],
    ['16030100', ILLEGAL_PARAMETER],
  ] as const) {
    using server = serverSide(serverTls());
    server.tls.receive('initial', hex(bytes));
    assert.equal(server.alert, alert, bytes);
    assert.ok(server.tls.failure);
    assertNoErrorLeft();
  }
});

test('garbage in place of a ServerHello ends with an alert', () => {
  using client = startedClient();
  client.tls.receive('initial', hex('0200000501020304ff00'));
  assert.equal(client.alert, DECODE_ERROR);
  assertNoErrorLeft();
});

test('a failed handshake ignores what comes', () => {
  using server = serverSide(serverTls());
  server.tls.receive('initial', hex('0200000501020304ff'));
  const { length } = server.events;
  server.tls.receive('initial', startedClient().firstBytes());
  assert.equal(server.events.length, length);
  assert.equal(server.tls.isComplete, false);
});

test('the announced length of a message is bounded before memory is reserved for it', () => {
  using server = serverSide(serverTls());
  server.tls.receive('initial', hex('01004001'));
  assert.equal(server.alert, ILLEGAL_PARAMETER);
  assert.equal(server.tls.failure, 'a handshake message exceeds 16384 bytes');
  using other = serverSide(serverTls());
  for (const byte of hex('01ffffff')) other.tls.receive('initial', Buffer.of(byte));
  assert.equal(other.alert, ILLEGAL_PARAMETER);
});

test('the length of every message is bounded, not only that of the first', () => {
  using pair = shake({});
  const { client } = pair;
  client.tls.receive('application', hex('0400000d00000e1000000000000000000004004001'));
  assert.equal(client.alert, ILLEGAL_PARAMETER);
});

test('bytes behind a ServerHello that belong to no keys are an error', () => {
  using client = startedClient();
  using server = serverSide(serverTls());
  carry(client, server);
  const [hello] = server.out;
  assert.ok(hello);
  client.tls.receive('initial', Buffer.concat([hello.bytes, hex('0800000200')]));
  assert.ok(client.alert !== undefined || client.violation !== undefined);
  assert.ok(client.tls.failure);
  assert.equal(client.tls.isComplete, false);
});

test('data of a level that TLS has left is a violation (RFC 9001 §4.1.3)', () => {
  using pair = shake({});
  for (const side of [pair.client, pair.server]) {
    side.tls.receive('initial', hex('0100'));
    assert.equal(side.violation, 'CRYPTO data of level "initial", which TLS does not read');
    assert.equal(side.alert, undefined);
    assert.equal(side.tls.failure, side.violation);
  }
});

test('data of a level that TLS has not reached is a violation', () => {
  using server = serverSide(serverTls());
  server.tls.receive('handshake', hex('0100'));
  assert.ok(server.violation);
});

test('a KeyUpdate of TLS is unexpected (RFC 9001 §6)', () => {
  using pair = shake({});
  for (const side of [pair.client, pair.server]) {
    side.tls.receive('application', hex('1800000100'));
    assert.equal(side.alert, UNEXPECTED_MESSAGE);
    assert.ok(side.tls.isComplete);
    assertNoErrorLeft();
  }
});

test('a KeyUpdate of TLS is unexpected at every level, beside a Finished and without its end', () => {
  using ours = clientTls();
  using theirs = serverTls();
  for (const update of ['1800000100', '1800000101', '18', '18ffffff']) {
    using client = clientSide(ours);
    using server = serverSide(theirs);
    client.tls.start();
    carry(client, server);
    carry(server, client);
    const [finished] = client.out;
    assert.equal(finished?.level, 'handshake');
    server.tls.receive('handshake', Buffer.concat([finished.bytes, hex(update)]));
    assert.equal(server.alert, UNEXPECTED_MESSAGE, update);
    assert.equal(server.violation, undefined);

    for (const level of ['initial', 'handshake', 'application'] as const) {
      using pair = shake({});
      for (const side of [pair.client, pair.server]) {
        side.tls.receive(level, hex(update));
        assert.equal(side.alert, UNEXPECTED_MESSAGE, `${level} ${update}`);
        assert.equal(side.violation, undefined);
      }
    }
  }
  assertNoErrorLeft();
});

test('a ClientHello without transport parameters ends with missing_extension (RFC 9001 §8.2)', () => {
  using client = startedClient();
  const hello = client.firstBytes();
  // The extension's type becomes an unknown one.
  const at = hello.indexOf(hex('003900080104'));
  assert.ok(at > 0);
  hello.set(hex('fafa'), at);
  using server = serverSide(serverTls());
  server.tls.receive('initial', hello);
  assert.equal(server.alert, MISSING_EXTENSION);
  assert.ok(!server.events.includes('secret handshake write'));
  assertNoErrorLeft();
});

test('changed CRYPTO data never completes a handshake, and never throws', () => {
  using ours = clientTls();
  using theirs = serverTls();
  const numbers = scrambled(7);
  const below = (limit: number): number => numbers.next().value % limit;
  for (let round = 0; round < 150; round++) {
    using client = clientSide(ours);
    using server = serverSide(theirs);
    client.tls.start();
    // Which message is changed, and where.
    let messages = 0;
    const target = below(7);
    let isChanged = false;
    const pass = (from: Role, to: Role): boolean => {
      const out = from.out.splice(0);
      for (const { level, bytes } of out) {
        if (messages++ === target) {
          isChanged = true;
          const at = below(bytes.length);
          bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8));
        }
        to.tls.receive(level, bytes);
      }
      return out.length > 0;
    };
    let moved = true;
    while (moved) {
      moved = pass(client, server);
      moved = pass(server, client) || moved;
    }
    assert.ok(!isChanged || !(client.tls.isComplete && server.tls.isComplete), `round ${round}`);
    assertNoErrorLeft();
  }
});

test('random CRYPTO data at every level gives a result', () => {
  using ours = clientTls();
  using theirs = serverTls();
  const numbers = scrambled(11);
  const below = (limit: number): number => numbers.next().value % limit;
  const noise = (): Buffer => {
    const bytes = Buffer.from(Array.from({ length: 1 + below(300) }, () => below(256)));
    // A type and a length that TLS may take, half of the time.
    if (below(2) === 0 && bytes.length > 4) {
      bytes.set([[1, 2, 4, 8, 11, 13, 15, 20, 24][below(9)] ?? 0, 0, 0, bytes.length - 4]);
    }
    return bytes;
  };
  for (let round = 0; round < 200; round++) {
    using client = clientSide(ours);
    using server = serverSide(theirs);
    client.tls.start();
    const stage = below(4);
    if (stage > 0) carry(client, server);
    if (stage > 1) carry(server, client);
    if (stage > 2) carry(client, server);
    for (const side of [client, server]) {
      for (let i = 0; i < 4; i++) {
        const level = (['initial', 'handshake', 'application'] as const)[below(3)] ?? 'initial';
        side.tls.receive(level, noise());
      }
      assert.ok(side.tls.failure !== undefined || side.alert === undefined);
    }
    assertNoErrorLeft();
  }
});

test('a long message in small pieces does not disturb other connections', () => {
  using ours = clientTls();
  using theirs = serverTls();
  using slow = clientSide(ours);
  using source = serverSide(theirs);
  slow.tls.start();
  carry(slow, source);
  const hello = source.out.shift();
  assert.ok(hello);
  slow.tls.receive(hello.level, hello.bytes);
  const large = Buffer.alloc(15_000);
  large.set([8, 0, 0x3a, 0x94]);
  for (let at = 0; at < large.length; at += 1000) {
    slow.tls.receive('handshake', large.subarray(at, at + 1000));
    if (at !== 7000) continue;
    using client = clientSide(ours);
    using server = serverSide(theirs);
    converse(client, server);
    assert.ok(client.tls.isComplete && server.tls.isComplete);
  }
  assert.equal(slow.alert, DECODE_ERROR);
});

test('an error that others have left in the queue is not taken for one of the connection', () => {
  using client = clientSide(clientTls());
  using server = serverSide(serverTls());
  assertNoErrorLeft();
  // A PEM text without a key leaves an error.
  assert.equal(libraryOfProcess().readKey('no key'), 0);
  converse(client, server);
  assert.ok(client.tls.isComplete && server.tls.isComplete);
});

test('an exception of a handler ends its handshake, is thrown, and harms no other connection', () => {
  using ours = clientTls();
  using theirs = serverTls();
  for (const handler of [
    'onCryptoData',
    'onSecret',
    'onPeerParameters',
    'onComplete',
    'onAlert',
  ] as const) {
    const boom = new Error(`thrown by ${handler}`);
    using server = serverSide(theirs, {
      [handler]: () => {
        throw boom;
      },
    });
    using client = clientSide(ours);
    if (handler === 'onAlert') {
      assert.throws(() => server.tls.receive('initial', hex('0200000501020304ff')), boom);
    } else {
      assert.throws(() => converse(client, server), boom);
      assert.equal(server.tls.failure, boom.message);
    }
    const { length } = server.events;
    server.tls.receive('initial', hex('01'));
    assert.equal(server.events.length, length);
    using other = shake({});
    assert.ok(other.client.tls.isComplete && other.server.tls.isComplete);
  }
});

test('a handshake may be disposed of by each of its handlers', () => {
  using ours = clientTls();
  using theirs = serverTls();
  for (const handler of ['onCryptoData', 'onSecret', 'onPeerParameters', 'onComplete'] as const) {
    const server = serverSide(theirs, { [handler]: () => server[Symbol.dispose]() });
    using client = clientSide(ours);
    client.tls.start();
    carry(client, server);
    if (handler === 'onComplete') {
      carry(server, client);
      carry(client, server);
    }
    const { length } = server.events;
    assert.throws(() => server.tls.receive('initial', hex('01')), { name: 'NativeError' }, handler);
    assert.equal(server.events.length, length);
  }
});

test('after it was disposed of, a handshake throws a named error and reports nothing', () => {
  const { tls } = shake({}).client;
  tls[Symbol.dispose]();
  tls[Symbol.dispose]();
  const gone = { name: 'NativeError', message: 'TLS was used after it was closed' };
  assert.throws(() => tls.receive('application', hex('04')), gone);
  assert.throws(() => tls.start(), gone);
  assert.throws(() => tls.setTransportParameters(hex('00')), gone);
});

test('wrong order of calls throws a named error', () => {
  using ours = clientTls();
  using theirs = serverTls();
  using client = ours.createHandshake(SILENT);
  assert.throws(() => client.start(), { message: 'TLS has no transport parameters' });
  client.setTransportParameters(new Uint8Array(0));
  assert.throws(() => client.setTransportParameters(new Uint8Array(0)), { name: 'NativeError' });
  assert.throws(() => client.receive('initial', hex('02')), { message: 'TLS has not started' });
  client.start();
  assert.throws(() => client.start(), { message: 'TLS has started' });
  using server = theirs.createHandshake(SILENT);
  assert.throws(() => server.receive('initial', hex('01')), { name: 'NativeError' });
  server.setTransportParameters(hex('00'));
  assert.throws(() => server.start(), { name: 'NativeError' });
});
