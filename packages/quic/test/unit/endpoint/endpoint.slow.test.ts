import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Salamander } from '../../../../proxy/src/protocols/hysteria2/salamander.ts';
import {
  CLOSE_TIMEOUT,
  HANDSHAKE_DATAGRAMS_A_TURN,
  HANDSHAKE_MS_A_TURN,
  MAX_CLOSING_CONNECTIONS,
  MAX_RESET_SIZE,
  MAX_UNVALIDATED_HANDSHAKES,
  MAX_WAITING_BYTES,
  MAX_WAITING_DATAGRAMS,
  RESETS_A_SECOND,
} from '../../../src/limits.ts';
import { clientInitial, shortPacket } from '../../../../../test/support/quic/endpoint/packets.ts';
import { numeric } from '../../../../../test/support/quic/endpoint/memory-network.ts';
import { ScriptedCore } from '../../../../../test/support/quic/endpoint/scripted-core.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';
import { CLIENT, EndpointRig } from '../../../../../test/support/quic/endpoint/endpoint-rig.ts';

const idOf = (number: number): Buffer => Buffer.from(String(number).padStart(8, '0'));
const initialOf = (number: number): Buffer => clientInitial({ destinationId: idOf(number) });

/** The connection of the only client so far. */
async function oneClient(rig: EndpointRig): Promise<ScriptedCore> {
  rig.serve();
  await rig.deliver([initialOf(1)]);
  const [core] = rig.cores.servers;
  assert.ok(core);
  return core;
}

test('a client gets a connection, which gets all its packets', async () => {
  const rig = await EndpointRig.open();
  const core = await oneClient(rig);
  const again = initialOf(1);
  const toIssued = clientInitial({ destinationId: core.id });
  const short = shortPacket(core.id);
  await rig.deliver([again, toIssued, short]);
  assert.equal(rig.cores.servers.length, 1);
  assert.deepEqual(core.received.slice(1), [again, toIssued, short]);
  assert.equal(rig.endpoint.connections, 1);
});

test('datagrams that were received behind each other find each its connection', async () => {
  const rig = await EndpointRig.open();
  rig.serve();
  rig.record();
  await rig.deliver([1, 2].map(initialOf));
  const [one, two] = rig.cores.servers as [ScriptedCore, ScriptedCore];
  const packets = [one, one, two, undefined, two, one, one].map((core, i) =>
    shortPacket(core?.id ?? idOf(77), i === 6 ? 50 : 100),
  );
  const calls: number[] = [];
  one.receiveBatch = (...[buffer, offset, length, stride]) => {
    calls.push(length);
    ScriptedCore.prototype.receiveBatch.call(one, buffer, offset, length, stride);
  };
  rig.socket.deliver(Buffer.concat(packets), CLIENT, 100);
  await rig.network.settle();
  assert.deepEqual(calls, [200, 150]);
  assert.deepEqual(
    one.received.slice(1),
    [0, 1, 5, 6].map((i) => packets[i]),
  );
  assert.deepEqual(
    two.received.slice(1),
    [2, 4].map((i) => packets[i]),
  );
  assert.equal(rig.responses.length, 1);
});

test('before it serves, an endpoint responds to no client', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  await rig.deliver([initialOf(1)]);
  assert.equal(rig.cores.servers.length, 0);
  assert.equal(rig.responses.length, 0);
});

test('the protocol above sees a client when its handshake is complete, and not before', async () => {
  const rig = await EndpointRig.open();
  const core = await oneClient(rig);
  assert.equal(rig.accepted.length, 0);
  core.events.push({ kind: 'established' });
  await rig.deliver([shortPacket(core.id)]);
  assert.equal(rig.accepted.length, 1);
  await rig.accepted[0]?.established;
});

test('once a handshake is confirmed, the id that the client made up is forgotten', async () => {
  const rig = await EndpointRig.open();
  const core = await oneClient(rig);
  assert.equal(rig.endpoint.held.ids, 2);
  core.events.push({ kind: 'established' }, { kind: 'confirmed' });
  await rig.deliver([shortPacket(core.id)]);
  assert.equal(rig.endpoint.held.ids, 1);
});

test('new settings are for new clients', async () => {
  const rig = await EndpointRig.open();
  const seen: string[] = [];
  const serve = (name: string): void =>
    rig.serve({
      onConnection: () => {
        seen.push(name);
        return { onStream: () => undefined, onDatagram: () => undefined };
      },
    });
  serve('old');
  await rig.deliver([initialOf(1)]);
  serve('new');
  await rig.deliver([initialOf(2)]);
  for (const core of rig.cores.servers) core.events.push({ kind: 'established' });
  await rig.deliver(rig.cores.servers.map(({ id }) => shortPacket(id)));
  assert.deepEqual(seen, ['old', 'new']);
});

test('clients beyond the limit are refused; when one has ended, the next gets its place', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  rig.serve({ maxConnections: 8 });
  for (let i = 1; i <= 8; i++) {
    await rig.deliver([initialOf(i)]);
    const core = rig.cores.servers.at(-1);
    assert.ok(core);
    core.events.push({ kind: 'established' });
    await rig.deliver([shortPacket(core.id)]);
  }
  assert.equal(rig.cores.servers.length, 8);
  assert.equal(rig.responses.length, 0);
  await rig.deliver([initialOf(9)]);
  assert.equal(rig.cores.servers.length, 8);
  assert.equal(rig.responses.length, 1);
  const [first] = rig.cores.servers;
  first?.end({ kind: 'application', by: 'peer', code: 0, reason: '' });
  await rig.deliver([shortPacket(first?.id as Uint8Array)]);
  await rig.deliver([initialOf(10)]);
  assert.equal(rig.cores.servers.length, 9);
});

test('100,000 Initial packets of spoofed sources leave a bounded number of handshakes, and live clients served', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  rig.serve({ maxConnections: 100_000 });
  await rig.deliver([initialOf(999_999)]);
  const live = rig.cores.servers.pop();
  assert.ok(live);
  live.events.push({ kind: 'established' });
  await rig.deliver([shortPacket(live.id)]);
  const PACKETS = 256;
  const packets = Array.from({ length: PACKETS }, (_, i) => initialOf(i));
  let most = 0;
  let mostBytes = 0;
  for (let i = 0; i < 100_000; i++) {
    const from = numeric(`198.51.${(i >> 8) & 0xff}.${i & 0xff}`, 1 + (i % 65_000));
    rig.socket.deliver(packets[i % PACKETS] as Buffer, from);
    mostBytes = Math.max(mostBytes, rig.endpoint.waitingBytes);
    if (i % PACKETS === PACKETS - 1) {
      const before = rig.responses.length + rig.cores.servers.length;
      rig.socket.deliver(shortPacket(live.id), CLIENT);
      live.toSend.push({ bytes: 100, segmentSize: 0 });
      // Others have a turn after each share.
      await rig.network.turn();
      assert.equal(live.toSend.length, 0, 'a live client waits for no handshake');
      most = Math.max(most, rig.responses.length + rig.cores.servers.length - before);
    }
  }
  assert.equal(rig.cores.servers.length, MAX_UNVALIDATED_HANDSHAKES);
  assert.ok(rig.endpoint.held.ids <= 2 * (MAX_UNVALIDATED_HANDSHAKES + 1));
  assert.equal(most, HANDSHAKE_DATAGRAMS_A_TURN + 1);
  assert.ok(mostBytes <= MAX_WAITING_BYTES);
  // Nothing that was sent back is larger than what came.
  assert.ok(rig.responses.every(({ length }) => length < 1200));
});

test('clients that appear at once all get a connection, so many in a turn', async () => {
  const rig = await EndpointRig.open();
  rig.serve();
  const many = MAX_UNVALIDATED_HANDSHAKES;
  for (let i = 0; i < many; i++) rig.socket.deliver(initialOf(i), CLIENT);
  await rig.network.settle();
  assert.equal(rig.cores.servers.length, many);
  assert.equal(rig.endpoint.waitingBytes, 0);
});

test('handshakes that take long leave the turn to others, and live connections come first', async () => {
  const rig = await EndpointRig.open();
  const live = await oneClient(rig);
  const turns: string[] = [];
  rig.cores.onServer = () => {
    rig.clock.advance(HANDSHAKE_MS_A_TURN / 2);
    turns.push('handshake');
  };
  live.receiveBatch = () => turns.push('live');
  for (let i = 2; i <= 6; i++) rig.socket.deliver(initialOf(i), CLIENT);
  rig.socket.deliver(shortPacket(live.id), CLIENT);
  for (; await rig.network.turn(); turns.push('turn'));
  assert.deepEqual(
    turns.join(' '),
    'live handshake handshake turn handshake handshake turn handshake turn turn',
  );
});

test('datagrams of handshakes under way come before new clients', async () => {
  const rig = await EndpointRig.open();
  const core = await oneClient(rig);
  const seen: number[] = [];
  core.receiveBatch = (...args) => {
    seen.push(rig.cores.servers.length);
    ScriptedCore.prototype.receiveBatch.apply(core, args);
  };
  await rig.deliver([initialOf(2), initialOf(1)]);
  assert.deepEqual(seen, [1]);
  assert.equal(rig.cores.servers.length, 2);
});

test('so do handshakes under way, one after the other', async () => {
  const rig = await EndpointRig.open();
  const core = await oneClient(rig);
  const turns: string[] = [];
  core.receiveBatch = () => {
    rig.clock.advance(HANDSHAKE_MS_A_TURN / 2);
    turns.push('handshake');
  };
  for (let i = 0; i < 6; i++) rig.socket.deliver(initialOf(1), CLIENT);
  for (; await rig.network.turn(); turns.push('turn'));
  assert.deepEqual(
    turns.join(' '),
    'handshake handshake handshake handshake turn handshake handshake turn turn',
  );
});

test('a flood of one handshake does not keep out new clients', async () => {
  const rig = await EndpointRig.open();
  const core = await oneClient(rig);
  core.receiveBatch = () => rig.clock.advance(HANDSHAKE_MS_A_TURN / 4);
  for (let i = 0; i < 2 * MAX_WAITING_DATAGRAMS; i++) rig.socket.deliver(initialOf(1), CLIENT);
  rig.socket.deliver(initialOf(2), CLIENT);
  await rig.network.turn();
  assert.equal(rig.cores.servers.length, 2);
});

test('what waits of handshakes is bounded in number and bytes', async () => {
  const rig = await EndpointRig.open();
  rig.serve();
  const initial = initialOf(1);
  for (let i = 0; i < 2 * MAX_WAITING_DATAGRAMS; i++) rig.socket.deliver(initial, CLIENT);
  assert.equal(rig.endpoint.waitingBytes, MAX_WAITING_DATAGRAMS * initial.length);
  await rig.network.settle();
  assert.equal(rig.endpoint.waitingBytes, 0);
  const large = Buffer.concat([initialOf(2), Buffer.alloc(60_000)]);
  for (let i = 0; i < MAX_WAITING_DATAGRAMS; i++) rig.socket.deliver(large, CLIENT);
  const { waitingBytes } = rig.endpoint;
  assert.ok(waitingBytes > MAX_WAITING_BYTES / 2 && waitingBytes <= MAX_WAITING_BYTES);
});

test('a full socket leaves handshakes waiting until it has room', async () => {
  const rig = await EndpointRig.open();
  const core = await oneClient(rig);
  core.toSend.push({ bytes: 1200, segmentSize: 0 });
  rig.socket.room = 0;
  await rig.deliver([shortPacket(core.id), initialOf(2)]);
  assert.equal(rig.cores.servers.length, 1);
  rig.socket.makeRoom(10);
  await rig.network.settle();
  assert.equal(rig.cores.servers.length, 2);
});

test('a client whose first packet is not authentic gets no connection', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  rig.serve();
  for (let i = 0; i < 100; i++) {
    const initial = initialOf(i);
    initial[100 + i] = (initial[100 + i] as number) ^ 1;
    await rig.deliver([initial]);
  }
  assert.equal(rig.cores.servers.length, 0);
  assert.deepEqual(rig.endpoint.held, { connections: 0, ids: 0 });
  assert.equal(rig.responses.length, 0);
});

test('a client whose connection cannot be made is reported, and leaves nothing behind', async () => {
  const rig = await EndpointRig.open();
  const failures: string[] = [];
  rig.serve({ onFailure: ({ message }) => failures.push(message) });
  rig.cores.onServer = () => {
    throw new Error('TLS has no memory');
  };
  await rig.deliver([initialOf(1)]);
  assert.deepEqual(failures, ['TLS has no memory']);
  assert.deepEqual(rig.endpoint.held, { connections: 0, ids: 0 });
  rig.cores.onServer = undefined;
  await rig.deliver([initialOf(1)]);
  assert.equal(rig.endpoint.connections, 1);
});

test('a packet to an unknown id gets a stateless reset that is shorter than itself', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  const core = await oneClient(rig);
  core.end({ kind: 'idle', by: 'self', code: 0, reason: '' });
  core.events.push({ kind: 'drained' });
  await rig.deliver([shortPacket(core.id)]);
  assert.equal(rig.endpoint.held.connections, 0);
  for (const size of [21, 22, 30, 44, 1200]) await rig.deliver([shortPacket(core.id, size)]);
  const sizes = rig.responses.map(({ length }) => length);
  assert.deepEqual(sizes, [21, 29, MAX_RESET_SIZE, MAX_RESET_SIZE]);
  for (const response of rig.responses) {
    assert.deepEqual(response.subarray(-16), Buffer.from(core.resetToken));
    assert.equal((response[0] as number) & 0xc0, 0x40);
  }
});

test('stateless resets are limited in time', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  const unknown = Array.from({ length: 2 * RESETS_A_SECOND }, (_, i) => shortPacket(idOf(i)));
  await rig.deliver(unknown);
  assert.equal(rig.responses.length, RESETS_A_SECOND);
  rig.clock.advance(500);
  await rig.deliver(unknown);
  assert.equal(rig.responses.length, 1.5 * RESETS_A_SECOND);
});

test('two endpoints without connections do not send each other resets for ever', async () => {
  const rig = await EndpointRig.open();
  const other = await EndpointRig.open();
  let exchanged = 0;
  rig.network.fate = (bytes) => {
    exchanged++;
    other.socket.deliver(Buffer.from(bytes), numeric('192.0.2.1', 1));
    return 'lost';
  };
  other.network.fate = (bytes) => {
    exchanged++;
    rig.socket.deliver(Buffer.from(bytes), numeric('192.0.2.2', 2));
    return 'lost';
  };
  rig.socket.deliver(shortPacket(idOf(1), 1200), numeric('192.0.2.2', 2));
  for (let i = 0; i < 100; i++) {
    await rig.network.settle();
    await other.network.settle();
  }
  assert.ok(exchanged > 0 && exchanged <= MAX_RESET_SIZE, `${exchanged} datagrams`);
});

test('a stateless reset of the peer finds its connection, whatever id it seems to have', async () => {
  const rig = await EndpointRig.open();
  rig.dial();
  rig.dial();
  const [one, two] = rig.cores.clients as [ScriptedCore, ScriptedCore];
  two.peerResetToken = Buffer.alloc(16, 0x5a);
  const reset = shortPacket(idOf(77), 40);
  await rig.deliver([reset], numeric('192.0.2.9', 444));
  assert.deepEqual(two.received, [], 'it is not from its peer');
  await rig.deliver([reset], numeric('192.0.2.9', 443));
  assert.deepEqual(one.received, []);
  assert.deepEqual(two.received, [reset]);
});

test('a connection that has moved is found by resets of its new address', async () => {
  const rig = await EndpointRig.open();
  const core = await oneClient(rig);
  core.peerResetToken = Buffer.alloc(16, 0x5a);
  const moved = numeric('192.0.2.55', 5555);
  core.remote = moved;
  core.events.push({ kind: 'migrated', remote: moved });
  await rig.deliver([shortPacket(core.id)]);
  await rig.deliver([shortPacket(idOf(77), 40)], moved);
  assert.equal(core.received.length, 3);
});

test('nothing responds to garbage, and it does no harm', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  const core = await oneClient(rig);
  const random = new SeededRandom(5);
  const before = core.received.length;
  for (let i = 0; i < 5000; i++) {
    const garbage = random.bytes(random.below(1500));
    // Packets with short headers to unknown ids are worth a reset, which other tests count.
    if (garbage.length > 0) garbage[0] = (garbage[0] as number) & 0x3f;
    if (i % 2 === 0 && garbage.length > 0) garbage[0] = 0x80 | random.below(0x80);
    await rig.deliver([garbage], numeric('203.0.113.9', 9));
  }
  const isNegotiation = (bytes: Buffer): boolean => bytes.readUInt32BE(1) === 0;
  // Long headers of other versions, with 1,200 bytes, are no garbage.
  assert.ok(rig.responses.every(isNegotiation));
  assert.equal(core.received.length, before);
  assert.equal(rig.cores.servers.length, 1);
});

test('below an obfuscation nothing responds to random datagrams, whatever packet they look like', async () => {
  const random = new SeededRandom(6);
  const obfuscation = new Salamander('correct horse', random);
  const rig = await EndpointRig.open({ obfuscation });
  rig.record();
  rig.serve();
  const prober = numeric('203.0.113.9', 9);
  for (let i = 0; i < 2000; i++) await rig.deliver([random.bytes(1 + random.below(1500))], prober);
  // Also those that the random ones seldom become: to an unknown id, and of an unknown version.
  const version = Buffer.concat([Buffer.from('c0babababa', 'hex'), random.bytes(1250)]);
  version[5] = version[14] = 8;
  for (const packet of [shortPacket(idOf(1), 1200), version]) {
    const sealed = Buffer.alloc(packet.length + obfuscation.overhead);
    obfuscation.seal(packet, sealed, 0);
    await rig.deliver([sealed], prober);
  }
  assert.equal(rig.responses.length, 0);
  assert.equal(rig.endpoint.waitingBytes, 0);
  assert.equal(rig.cores.servers.length, 0);
});

test('truncated packets reach their connection or nothing, and never throw', async () => {
  const rig = await EndpointRig.open();
  const core = await oneClient(rig);
  rig.record();
  const packet = clientInitial({ destinationId: core.id });
  for (let size = 0; size <= packet.length; size++) await rig.deliver([packet.subarray(0, size)]);
  assert.equal(rig.responses.length, 0);
  assert.equal(rig.cores.servers.length, 1);
});

test('connections that have ended respond for a while; the oldest are forgotten early', async () => {
  const rig = await EndpointRig.open();
  rig.serve({ maxConnections: 100_000 });
  for (let i = 0; i < MAX_CLOSING_CONNECTIONS + 10; i++) {
    await rig.deliver([initialOf(i)]);
    const core = rig.cores.servers[i];
    core?.events.push({ kind: 'established' });
    core?.end({ kind: 'application', by: 'peer', code: 0, reason: '' });
    await rig.deliver([shortPacket(core?.id as Uint8Array)]);
  }
  assert.equal(rig.endpoint.connections, 0);
  assert.equal(rig.endpoint.held.connections, MAX_CLOSING_CONNECTIONS);
  assert.equal(rig.cores.servers.filter(({ abandoned }) => abandoned).length, 10);
});

test('closing says goodbye on every connection, and then releases the socket', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  rig.serve();
  await rig.deliver([1, 2, 3].map(initialOf));
  const dialled = rig.dial();
  rig.endpoint.close(0x100, 'stopping');
  assert.equal(await closesWith(rig), undefined);
  assert.equal(rig.responses.length, 4);
  for (const core of [...rig.cores.servers, ...rig.cores.clients]) {
    assert.deepEqual(core.closes, [{ code: 0x100, reason: 'stopping' }]);
  }
  assert.equal((await dialled.closed).code, 0x100);
  assert.equal(rig.network.sockets, 0);
  assert.equal(rig.endpoint.held.ids, 0);
  assert.equal(rig.clock.timers, 0);
});

/** Lets everything happen that is left, and returns how the socket was released. */
async function closesWith(rig: EndpointRig): Promise<Error | undefined> {
  await rig.network.settle();
  await rig.network.settle();
  return rig.endpoint.closed;
}

test('a full socket delays the release until the goodbye is sent', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  rig.serve();
  await rig.deliver([1, 2, 3].map(initialOf));
  rig.socket.room = 1;
  rig.endpoint.close(0x100);
  await rig.network.settle();
  assert.equal(rig.network.sockets, 1);
  assert.equal(rig.responses.length, 1);
  rig.socket.makeRoom(10);
  await closesWith(rig);
  assert.equal(rig.responses.length, 3);
  assert.equal(rig.network.sockets, 0);
});

test('a socket that stays full is released after a second', async () => {
  const rig = await EndpointRig.open();
  rig.serve();
  await rig.deliver([initialOf(1)]);
  rig.socket.room = 0;
  rig.endpoint.close(0x100);
  await rig.network.settle();
  rig.clock.advance(CLOSE_TIMEOUT);
  await closesWith(rig);
  assert.equal(rig.network.sockets, 0);
  assert.equal(rig.clock.timers, 0);
});

test('a retired endpoint accepts no client, and is released with its last connection', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  const core = await oneClient(rig);
  rig.endpoint.retire();
  await rig.deliver([initialOf(2)]);
  assert.equal(rig.cores.servers.length, 1);
  assert.throws(() => rig.dial(), /closed/);
  await rig.deliver([shortPacket(core.id)]);
  assert.equal(core.received.length, 2);
  core.end({ kind: 'application', by: 'peer', code: 0, reason: '' });
  core.events.push({ kind: 'drained' });
  await rig.deliver([shortPacket(core.id)]);
  await closesWith(rig);
  assert.equal(rig.network.sockets, 0);
});

test('when the socket fails, all connections end, and the error is reported', async () => {
  const rig = await EndpointRig.open();
  const core = await oneClient(rig);
  const dialled = rig.dial();
  rig.socket.close(new Error('the interface is gone'));
  const cause = await closesWith(rig);
  assert.match(String(cause), /interface is gone/);
  assert.ok(core.abandoned);
  await assert.rejects(dialled.established);
  assert.equal((await dialled.closed).kind, 'idle');
  assert.equal(rig.endpoint.held.connections, 0);
});
