import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IpEndpoint } from '@weir/base/ip';
import { DEFAULT_SETTINGS } from '../../../src/connection/connection-options.ts';
import {
  MAX_UNAUTHENTICATED,
  MAX_UNAUTHENTICATED_OF_SOURCE,
  MAX_UNVALIDATED_HANDSHAKES,
  UNAUTHENTICATED_STAY,
} from '../../../src/limits.ts';
import { numeric } from '../../../../../test/support/quic/endpoint/memory-network.ts';
import { clientInitial, shortPacket } from '../../../../../test/support/quic/endpoint/packets.ts';
import type { ScriptedCore } from '../../../../../test/support/quic/endpoint/scripted-core.ts';
import { noHandlers, EndpointRig } from '../../../../../test/support/quic/endpoint/endpoint-rig.ts';

const FIRST = numeric('192.0.2.1', 4000);
const flooder = numeric('198.51.100.1', 1000);
const honest = numeric('203.0.113.1', 1000);

/** A server whose clients come with tokens, as all do that have been there before. */
class Server {
  readonly rig: EndpointRig;
  #count = 0;
  #makeToken: ((address: IpEndpoint, now: number) => Uint8Array) | undefined;

  constructor(rig: EndpointRig) {
    this.rig = rig;
  }

  static async open(maxConnections: number): Promise<Server> {
    const rig = await EndpointRig.open();
    rig.record();
    rig.serve({ maxConnections: 100_000 });
    const server = new Server(rig);
    await rig.deliver([clientInitial({ destinationId: server.#nextId() })], FIRST);
    const core = rig.cores.servers.pop();
    assert.ok(core && 'makeToken' in core.options);
    server.#makeToken = core.options.makeToken;
    core.abandon();
    await rig.deliver([shortPacket(core.id)], FIRST);
    assert.equal(rig.endpoint.connections, 0);
    rig.serve({
      maxConnections,
      connection: { ...DEFAULT_SETTINGS, authenticates: true },
      onConnection: (connection) => {
        rig.accepted.push(connection);
        return noHandlers;
      },
    });
    return server;
  }

  /** A client begins a handshake. Returns its connection, if it gets one. */
  async enter(from: IpEndpoint): Promise<ScriptedCore | undefined> {
    const token = this.#makeToken?.(from, this.rig.clock.now());
    assert.ok(token);
    const { servers } = this.rig.cores;
    const before = servers.length;
    await this.rig.deliver([clientInitial({ destinationId: this.#nextId(), token })], from);
    return servers.length > before ? servers.at(-1) : undefined;
  }

  /** It completes the handshake. */
  async establish(core: ScriptedCore | undefined): Promise<void> {
    assert.ok(core);
    core.events.push({ kind: 'established' });
    await this.rig.deliver([shortPacket(core.id)], core.remote);
  }

  #nextId(): Buffer {
    const id = Buffer.alloc(8);
    id.writeUInt32BE(++this.#count, 4);
    return id;
  }
}

test('half-open handshakes of one host, with valid tokens, do not lock others out', async () => {
  const server = await Server.open(4096);
  for (let i = 0; i < MAX_UNAUTHENTICATED + 100; i++) await server.enter(flooder);
  assert.equal(server.rig.endpoint.connections, MAX_UNAUTHENTICATED_OF_SOURCE);
  assert.ok(await server.enter(honest));
});

test('nor do those of several hosts that fill all places: the one with the most gives way', async () => {
  const server = await Server.open(4096);
  for (let host = 1; host <= 5; host++) {
    for (let i = 0; i < MAX_UNAUTHENTICATED_OF_SOURCE; i++) {
      await server.enter(numeric(`198.51.100.${host}`, 1000 + i));
    }
  }
  assert.equal(server.rig.endpoint.connections, MAX_UNAUTHENTICATED);
  const core = await server.enter(honest);
  assert.ok(core);
  assert.equal(server.rig.endpoint.connections, MAX_UNAUTHENTICATED);
  // The flood goes on, and takes the places of the flood.
  for (let i = 0; i < 500; i++) await server.enter(numeric(`198.51.100.${i % 100}`, 5000 + i));
  assert.equal(core.closeReason, undefined);
});

test('the addresses of one /64 of IPv6 are one source', async () => {
  const server = await Server.open(4096);
  for (let i = 0; i < MAX_UNAUTHENTICATED_OF_SOURCE + 50; i++) {
    await server.enter(numeric(`2001:db8::${i.toString(16)}`, 1000));
  }
  assert.equal(server.rig.endpoint.connections, MAX_UNAUTHENTICATED_OF_SOURCE);
  assert.ok(await server.enter(numeric('2001:db8:0:1::1', 1000)));
});

test('clients that never authenticate do not keep the places of those that do', async () => {
  const server = await Server.open(16);
  for (let i = 0; i < 16; i++) await server.establish(await server.enter(flooder));
  assert.equal(server.rig.endpoint.connections, 16);
  const core = await server.enter(honest);
  assert.ok(core, 'one of a source that has more gives way at once');
  assert.equal(server.rig.endpoint.connections, 16, 'and the limit holds');
  await server.establish(core);
  server.rig.accepted.at(-1)?.authenticated();
  for (let i = 0; i < 100; i++) {
    await server.enter(numeric(`198.51.100.${2 + i}`, 1000));
    assert.ok(server.rig.endpoint.connections <= 16);
  }
  assert.equal(core.closeReason, undefined, 'an authenticated one keeps its place');
});

test('visitors that never authenticate stay for as long as there is room', async () => {
  const server = await Server.open(8);
  const visitors: (ScriptedCore | undefined)[] = [];
  for (let i = 0; i < 8; i++) {
    const visitor = await server.enter(numeric(`198.51.100.${1 + (i % 2)}`, 1000 + i));
    await server.establish(visitor);
    visitors.push(visitor);
  }
  server.rig.clock.advance(100 * UNAUTHENTICATED_STAY);
  for (const visitor of visitors) assert.equal(visitor?.closeReason, undefined);
  assert.equal(server.rig.endpoint.connections, 8);
});

test('a visitor stays beside any crowd of another address that does not authenticate', async () => {
  for (const most of [8, 4096]) {
    const server = await Server.open(most);
    const visitor = await server.enter(honest);
    assert.ok(visitor);
    await server.establish(visitor);
    for (let i = 0; i < 2 * MAX_UNAUTHENTICATED_OF_SOURCE; i++) {
      server.rig.clock.advance(UNAUTHENTICATED_STAY / 4);
      const one = await server.enter(flooder);
      if (one) await server.establish(one);
    }
    assert.equal(visitor.closeReason, undefined);
    assert.equal(
      server.rig.endpoint.connections,
      Math.min(most, MAX_UNAUTHENTICATED_OF_SOURCE + 1),
    );
    server.rig.accepted[0]?.authenticated();
    await server.enter(numeric('203.0.113.9', 1));
    assert.equal(visitor.closeReason, undefined, 'and can still authenticate');
  }
});

test('a crowd that does not authenticate leaves all places to clients that do', async () => {
  const server = await Server.open(8);
  for (let i = 0; i < 8; i++) await server.establish(await server.enter(flooder));
  const known: (ScriptedCore | undefined)[] = [];
  for (let i = 0; i < 8; i++) {
    server.rig.clock.advance(UNAUTHENTICATED_STAY);
    const core = await server.enter(honest);
    await server.establish(core);
    server.rig.accepted.at(-1)?.authenticated();
    known.push(core);
  }
  assert.equal(server.rig.endpoint.connections, 8);
  for (const core of known) assert.equal(core?.closeReason, undefined);
  assert.equal(await server.enter(flooder), undefined);
});

test('a client that is as alone as the newcomer keeps its place for its time', async () => {
  const server = await Server.open(1);
  const first = await server.enter(numeric('198.51.100.1', 1));
  assert.ok(first);
  assert.equal(await server.enter(honest), undefined);
  assert.equal(first.closeReason, undefined);
  server.rig.clock.advance(UNAUTHENTICATED_STAY);
  assert.ok(await server.enter(honest));
  assert.ok(first.closeReason);
  assert.equal(server.rig.endpoint.connections, 1);
});

test('further clients are refused at once when all are authenticated', async () => {
  const server = await Server.open(4);
  for (let i = 0; i < 4; i++) {
    await server.establish(await server.enter(flooder));
    server.rig.accepted.at(-1)?.authenticated();
  }
  server.rig.clock.advance(10 * UNAUTHENTICATED_STAY);
  server.rig.responses.length = 0;
  assert.equal(await server.enter(honest), undefined);
  assert.equal(server.rig.responses.length, 1, 'CONNECTION_REFUSED, at once');
  for (const { closeReason } of server.rig.cores.servers) assert.equal(closeReason, undefined);
});

test('forged addresses leave three quarters of the places, whatever their number', async () => {
  for (const most of [4, 16, 100, 1000]) {
    const rig = await EndpointRig.open();
    rig.record();
    rig.serve({ maxConnections: most });
    for (let i = 0; i < 300; i++) {
      const destinationId = Buffer.alloc(8);
      destinationId.writeUInt32BE(i, 4);
      await rig.deliver(
        [clientInitial({ destinationId })],
        numeric(`198.51.100.${i % 250}`, 1 + i),
      );
    }
    assert.ok(rig.endpoint.connections <= Math.max(1, most / 4), `${rig.endpoint.connections}`);
  }
});

test('forged addresses whose handshakes fail at once take no more places', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  rig.serve({ maxConnections: 4 * MAX_UNVALIDATED_HANDSHAKES });
  for (let i = 0; i < 2 * MAX_UNVALIDATED_HANDSHAKES; i++) {
    const destinationId = Buffer.alloc(8);
    destinationId.writeUInt32BE(i, 4);
    const { servers } = rig.cores;
    const before = servers.length;
    await rig.deliver([clientInitial({ destinationId })], flooder);
    const core = servers.length > before ? servers.at(-1) : undefined;
    if (!core) continue;
    core.end({ kind: 'transport', by: 'self', code: 0x0d, reason: '' });
    await rig.deliver([shortPacket(core.id)], flooder);
  }
  assert.equal(rig.endpoint.connections, 0);
  assert.equal(rig.cores.servers.length, MAX_UNVALIDATED_HANDSHAKES);
  for (const core of rig.cores.servers.splice(0)) {
    core.events.push({ kind: 'drained' });
    await rig.deliver([shortPacket(core.id)], flooder);
  }
  await rig.deliver([clientInitial({ destinationId: Buffer.alloc(8, 1) })], honest);
  assert.equal(rig.cores.servers.length, 1);
});
