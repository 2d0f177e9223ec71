import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PacketObfuscation } from '../../../src/endpoint/driver.ts';
import { TransportErrorCode } from '../../../src/errors.ts';
import { ResetTokens } from '../../../src/protection/tokens.ts';
import { QuicEndpoint } from '../../../src/endpoint/endpoint.ts';
import { MAX_UNVALIDATED_HANDSHAKES } from '../../../src/limits.ts';
import { PacketType } from '../../../src/wire/packet-header.ts';
import { collectAll } from '../../../../../test/support/quic/endpoint/collect-stream.ts';
import { MemoryQuic } from '../../../../../test/support/quic/endpoint/memory-quic.ts';
import { numeric } from '../../../../../test/support/quic/endpoint/memory-network.ts';
import {
  clientTls,
  openStream,
  serverTls,
} from '../../../../../test/support/quic/endpoint/quic-ends.ts';
import { clientInitial } from '../../../../../test/support/quic/endpoint/packets.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';

/** What both sides have to exchange to be known to work. */
async function exchange(quic: MemoryQuic): Promise<void> {
  const { near, far } = await quic.connect();
  const { left, right } = await quic.run(openStream(near, far));
  await left.write(Buffer.from('request'));
  await left.closeWrite();
  assert.equal(await quic.run(collectAll(right)), 'request');
  await right.write(Buffer.from('response'));
  await right.closeWrite();
  assert.equal(await quic.run(collectAll(left)), 'response');
  assert.equal(await quic.run(left.closed), undefined);
  assert.equal(await quic.run(right.closed), undefined);
  assert.ok(near.connection.sendDatagram(Buffer.from('ping')));
  assert.equal(String(await quic.run(far.datagrams.take())), 'ping');
}

test('a client and a server exchange streams and datagrams', async () => {
  await using quic = await MemoryQuic.open();
  await exchange(quic);
});

test('they do so below an obfuscation, which the wire counters include', async () => {
  const OVERHEAD = 8;
  const salting: PacketObfuscation = {
    overhead: OVERHEAD,
    seal(datagram, out, at) {
      out.fill(0xa5, at, at + OVERHEAD);
      for (const [i, byte] of datagram.entries()) out[at + OVERHEAD + i] = byte ^ 0xa5;
      return datagram.length + OVERHEAD;
    },
    open(datagram) {
      if (datagram.length < OVERHEAD) return undefined;
      const payload = datagram.subarray(OVERHEAD);
      for (const [i, byte] of payload.entries()) payload[i] = byte ^ 0xa5;
      return payload;
    },
  };
  await using quic = await MemoryQuic.open({ obfuscation: salting });
  let bytes = 0;
  quic.network.fate = (datagram) => {
    bytes += datagram.length;
    assert.equal(datagram[0], 0xa5);
    return 1;
  };
  const { near, far } = await quic.connect();
  await quic.network.pass(100);
  const [a, b] = [near.connection.wire, far.connection.wire];
  assert.equal(a.bytesWritten + b.bytesWritten, bytes);
  assert.equal(a.bytesRead, b.bytesWritten);
  assert.equal(b.bytesRead, a.bytesWritten);
});

test('a client beyond the limit learns of it at once, and others go on', async () => {
  await using quic = await MemoryQuic.open({ maxConnections: 1 });
  const { near, far } = await quic.connect();
  const refused = quic.ends.dial();
  await assert.rejects(quic.run(refused.connection.established, 20), /CONNECTION_REFUSED/);
  const { code, by } = await refused.connection.closed;
  assert.deepEqual([code, by], [TransportErrorCode.CONNECTION_REFUSED, 'peer']);
  await quic.run(openStream(near, far));
});

test('with handshakes piled up, a client gets through with the token of a Retry', async () => {
  await using quic = await MemoryQuic.open();
  // Clients that never go on: their first packets are answered, and nothing follows.
  const [server] = quic.sockets;
  assert.ok(server);
  for (let i = 0; i < MAX_UNVALIDATED_HANDSHAKES; i++) {
    const destinationId = Buffer.from(String(i).padStart(8, '0'));
    server.deliver(clientInitial({ destinationId }), numeric('203.0.113.5', 1000 + i));
  }
  await quic.network.settle();
  assert.equal(quic.ends.server.connections, MAX_UNVALIDATED_HANDSHAKES);
  let retries = 0;
  quic.network.fate = (bytes, from) => {
    const first = bytes[0] as number;
    if (from.port === server.local.port && first >= 0x80 && ((first >> 4) & 3) === PacketType.RETRY)
      retries++;
    return 1;
  };
  await exchange(quic);
  // One for each packet that the ClientHello is in.
  assert.ok(retries > 0);
});

test('half-open handshakes are forgotten after their time', async () => {
  await using quic = await MemoryQuic.open();
  const [server] = quic.sockets;
  assert.ok(server);
  for (let i = 0; i < 20; i++) {
    const destinationId = Buffer.from(String(i).padStart(8, '0'));
    server.deliver(clientInitial({ destinationId }), numeric('203.0.113.5', 1000 + i));
  }
  await quic.network.settle();
  assert.equal(quic.ends.server.connections, 20);
  await quic.network.pass(quic.ends.settings.handshakeTimeout + 1);
  assert.equal(quic.ends.server.connections, 0);
  await quic.network.pass(10_000);
  assert.deepEqual(quic.ends.server.held, { connections: 0, ids: 0 });
  assert.equal(quic.clock.timers, 0);
});

test('a close reaches the peer with its code, and both sides forget the connection', async () => {
  await using quic = await MemoryQuic.open();
  const { near, far } = await quic.connect();
  near.connection.close(0x100, 'done');
  assert.deepEqual(await quic.run(far.connection.closed), {
    kind: 'application',
    by: 'peer',
    code: 0x100,
    reason: 'done',
  });
  assert.equal((await near.connection.closed).by, 'self');
  assert.equal(quic.ends.server.connections, 0);
  await quic.network.pass(5000);
  assert.deepEqual(quic.ends.server.held, { connections: 0, ids: 0 });
  assert.deepEqual(quic.ends.client.held, { connections: 0, ids: 0 });
  assert.equal(quic.clock.timers, 0);
});

test('streams fail with the reason of their connection, and so do requests for further ones', async () => {
  await using quic = await MemoryQuic.open();
  const { near, far } = await quic.connect();
  const { left, right } = await quic.run(openStream(near, far));
  const reading = assert.rejects(
    right.read(),
    /the peer closed the connection \(code 0x100\): bye/,
  );
  near.connection.close(0x100, 'bye');
  await quic.run(reading);
  assert.match(String(await left.closed), /the connection was closed/);
  await assert.rejects(near.connection.openStream('bidirectional'), /the connection was closed/);
  await assert.rejects(async () => left.write(Buffer.of(1)));
});

test('an endpoint that closes sends a close to all its clients, which can reconnect at once', async () => {
  const quic = await MemoryQuic.open();
  const clients = [await quic.connect(), await quic.connect(), await quic.connect()];
  quic.ends.server.close(0x100, 'restart');
  for (const { near } of clients) {
    const { by, code } = await quic.run(near.connection.closed, 100);
    assert.deepEqual([by, code], ['peer', 0x100]);
  }
  await quic.run(quic.ends.server.closed, 10);
  assert.equal(quic.network.sockets, 1);
  await quic[Symbol.asyncDispose]();
  assert.equal(quic.clock.timers, 0);
});

test('a server that has lost its connections responds with a stateless reset', async () => {
  const resetTokens = new ResetTokens(new SeededRandom(5));
  const quic = await MemoryQuic.open({ resetTokens });
  const { near, far } = await quic.connect();
  await quic.run(openStream(near, far));
  const [server] = quic.sockets;
  assert.ok(server);
  server.close();
  await quic.network.settle();
  // Another process on the same address, with the same key.
  const next = await QuicEndpoint.bind(quic.network.bind, server.local, {
    clock: quic.clock,
    random: new SeededRandom(9),
    soon: quic.network.soon,
    resetTokens,
  });
  next.serve({
    tls: serverTls,
    connection: quic.ends.settings,
    maxConnections: 10,
    onConnection: () => ({ onStream: () => undefined, onDatagram: () => undefined }),
  });
  const stream = await near.connection.openStream('bidirectional');
  await stream.write(Buffer.alloc(100));
  const { kind } = await quic.run(near.connection.closed, 100);
  assert.equal(kind, 'stateless-reset');
  next.close(0);
  await quic.run(next.closed);
  quic.ends.client.close(0);
  await quic.run(quic.ends.client.closed);
});

test('a server follows a client to another port, and reports it', async () => {
  await using quic = await MemoryQuic.open();
  const { near, far } = await quic.connect();
  const { left, right } = await quic.run(openStream(near, far));
  const [server, client] = quic.sockets;
  assert.ok(server && client);
  const moved = numeric('127.0.0.1', 7777);
  // What the client sends comes from another port, and what goes there comes to the client.
  quic.network.fate = (bytes, from, to) => {
    const copy = Buffer.from(bytes);
    if (from.port === client.local.port) {
      quic.clock.after(1, () => server.deliver(copy, moved));
    } else if (to.port === moved.port) {
      quic.clock.after(1, () => client.deliver(copy, server.local));
    }
    return 'lost';
  };
  await left.write(Buffer.from('from elsewhere'));
  await left.closeWrite();
  assert.equal(await quic.run(collectAll(right)), 'from elsewhere');
  await quic.until(() => far.moves.length > 0, 2000);
  assert.deepEqual(far.moves, ['127.0.0.1 7777']);
  assert.deepEqual(far.connection.remote, { host: '127.0.0.1', port: 7777 });
  await right.write(Buffer.from('and back'));
  await right.closeWrite();
  assert.equal(await quic.run(collectAll(left)), 'and back');
});

test('replayed, truncated and corrupted copies of all datagrams change nothing', async () => {
  await using quic = await MemoryQuic.open();
  const random = new SeededRandom(11);
  const [server, client] = quic.sockets;
  assert.ok(server && client);
  quic.network.fate = (bytes, from) => {
    const target = from.port === client.local.port ? server : client;
    const copies = [Buffer.from(bytes), Buffer.from(bytes.subarray(0, random.below(bytes.length)))];
    const corrupt = Buffer.from(bytes);
    corrupt[random.below(corrupt.length)] = random.below(256);
    copies.push(corrupt);
    for (const copy of copies) quic.clock.after(random.below(5), () => target.deliver(copy, from));
    return 1;
  };
  await exchange(quic);
});

test('random bytes at a server with live connections harm none of them', async () => {
  await using quic = await MemoryQuic.open();
  const { near, far } = await quic.connect();
  const { left, right } = await quic.run(openStream(near, far));
  const [server, client] = quic.sockets;
  assert.ok(server && client);
  const random = new SeededRandom(12);
  const seen: Buffer[] = [];
  quic.network.fate = (bytes, from) => {
    if (from.port === client.local.port) seen.push(Buffer.from(bytes));
    return 1;
  };
  for (let i = 0; i < 2000; i++) {
    const base = seen.length > 0 && i % 2 === 0 ? seen[random.below(seen.length)] : undefined;
    const bytes = base ? Buffer.from(base) : random.bytes(random.below(1600));
    for (let flips = random.below(8); flips > 0 && bytes.length > 0; flips--) {
      bytes[random.below(bytes.length)] = random.below(256);
    }
    server.deliver(bytes, i % 3 === 0 ? client.local : numeric('203.0.113.7', 7));
    if (i % 100 === 0) {
      await left.write(Buffer.from('x'));
      await quic.network.pass(1);
    }
  }
  await left.closeWrite();
  assert.equal(await quic.run(collectAll(right)), 'x'.repeat(20));
});

test('1,000 connections opened and closed leave nothing behind', async () => {
  await using quic = await MemoryQuic.open();
  const ROUNDS = 10;
  for (let round = 0; round < ROUNDS; round++) {
    const pairs = [];
    for (let i = 0; i < 1000 / ROUNDS; i++) pairs.push(await quic.connect());
    for (const { near } of pairs) near.connection.close(0x100);
    await quic.until(() => quic.ends.server.connections === 0);
  }
  await quic.network.pass(5000);
  assert.deepEqual(quic.ends.server.held, { connections: 0, ids: 0 });
  assert.deepEqual(quic.ends.client.held, { connections: 0, ids: 0 });
  assert.equal(quic.clock.timers, 0);
});

test('a client endpoint that is retired after its dial is released with its connection', async () => {
  await using quic = await MemoryQuic.open();
  const client = await QuicEndpoint.bind(quic.network.bind, numeric('127.0.0.1', 0), {
    clock: quic.clock,
    random: new SeededRandom(3),
    soon: quic.network.soon,
  });
  const { connection } = quic.ends.dial({}, client);
  client.retire();
  await quic.run(connection.established);
  await quic.run(quic.ends.accept());
  connection.close(0x100);
  await quic.run(client.closed);
  assert.equal(quic.network.sockets, 2);
});

test('an error of TLS at the client is the reason of both sides', async () => {
  await using quic = await MemoryQuic.open();
  const connection = quic.ends.client.dial(
    { ...numeric('127.0.0.1', quic.ends.server.local.port) },
    {
      tls: clientTls,
      connection: { ...quic.ends.settings, handshakeTimeout: 50 },
      handlers: { onStream: () => undefined, onDatagram: () => undefined },
    },
  );
  quic.network.fate = () => 'lost';
  await assert.rejects(quic.run(connection.established), /took too long/);
  assert.equal((await connection.closed).kind, 'idle');
});
