import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import type { Endpoint } from '@weir/io/addresses';
import { type ByteLink, type PacketLink, linkPair } from '@weir/io/links';
import type { ListenOptions, Sockets, UdpSocket } from '@weir/io/sockets';
import {
  MOST_LOCAL_CLIENTS,
  MOST_LOCAL_CONNECTIONS,
  LocalResolver,
} from '../../../../src/protocols/tun/local-resolver.ts';
import { packetPair } from '../../../../../../test/support/links/packet-pair.ts';

const ADDRESSES = [{ address: '172.19.0.1', prefix: 30 }];
const LOCAL = { host: '172.19.0.1', port: 53 };

/** Sockets in memory, and the clients that the service has passed on. */
class Rig {
  readonly associations: { readonly source: Endpoint; readonly link: PacketLink }[] = [];
  readonly connections: { readonly source: Endpoint; readonly link: ByteLink }[] = [];
  readonly unbound: string[] = [];
  readonly sockets: Pick<Sockets, 'listen' | 'bindUdp'>;
  readonly resolver: LocalResolver;
  readonly #listening: ListenOptions[] = [];
  /** What the programs send and receive. */
  programs: PacketLink | undefined;
  isTaken = false;
  takes = true;
  closed = 0;

  constructor(isServing = true) {
    this.sockets = {
      bindUdp: () => {
        if (this.isTaken) return Promise.reject(new Error('address already in use'));
        const [near, far] = packetPair();
        this.programs = far;
        const socket: UdpSocket = Object.assign(near, {
          local: LOCAL,
          bytesRead: 0,
          bytesWritten: 0,
          receiveAll: async (take: Parameters<UdpSocket['receiveAll']>[0]) => {
            for (let one = await near.receive(); one; one = await near.receive()) take(one);
          },
        });
        return Promise.resolve(socket);
      },
      listen: (_where, options) => {
        this.#listening.push(options);
        return Promise.resolve({ endpoint: LOCAL, close: () => void this.closed++ });
      },
    };
    this.resolver = new LocalResolver({
      takes: () => this.takes,
      onConnection: async (source, _local, link) => {
        this.connections.push({ source, link });
        await link.closed;
      },
      onAssociation: async (source, link) => {
        this.associations.push({ source, link });
        await link.closed;
      },
      onUnbound: (where, reason) => void this.unbound.push(`${where}: ${reason}`),
    });
    if (isServing) this.resolver.serve();
  }

  async ask(port: number): Promise<void> {
    this.programs?.send({ data: Buffer.from('question'), peer: { host: '172.19.0.1', port } });
    await settle();
  }

  connect(port: number): ByteLink {
    const [client, server] = linkPair();
    const remote = { host: '172.19.0.1', port };
    for (const { onConnection } of this.#listening) {
      onConnection({
        remote,
        local: LOCAL,
        link: () => Object.assign(server, { bytesRead: 0, bytesWritten: 0 }),
        socket: () => {
          throw new Error('not asked for');
        },
        destroy: () => server.destroy(new Error('not taken')),
      });
    }
    return client;
  }
}

describe('the DNS service at the own address', () => {
  test('serves what has come before it serves', async () => {
    const rig = new Rig(false);
    rig.takes = false;
    await rig.resolver.bind(rig.sockets, ADDRESSES);
    await rig.ask(1000);
    const client = rig.connect(2000);
    await settle();
    assert.deepEqual([rig.associations.length, rig.connections.length], [0, 0]);
    rig.takes = true;
    rig.resolver.serve();
    await settle();
    const [{ source, link } = {}] = rig.associations;
    assert.equal(source?.port, 1000);
    assert.equal(Buffer.from((await link?.receive())?.data ?? []).toString(), 'question');
    assert.equal(rig.connections[0]?.source.port, 2000);
    rig.resolver.close();
    await client.closed;
  });

  test('ends connections that wait when it is closed before it serves', async () => {
    const rig = new Rig(false);
    await rig.resolver.bind(rig.sockets, ADDRESSES);
    const client = rig.connect(2000);
    rig.takes = false;
    rig.resolver.close();
    await client.closed;
    assert.equal(rig.connections.length, 0);
  });

  test('has one association for each port, at most so many, and drops the least recent', async () => {
    const rig = new Rig();
    await rig.resolver.bind(rig.sockets, ADDRESSES);
    for (let i = 0; i < MOST_LOCAL_CLIENTS; i++) await rig.ask(1000 + i);
    assert.equal(rig.associations.length, MOST_LOCAL_CLIENTS);
    await rig.ask(1000); // known, and now the most recent
    assert.equal(rig.associations.length, MOST_LOCAL_CLIENTS);
    await rig.ask(60_000);
    assert.equal(rig.associations.length, MOST_LOCAL_CLIENTS + 1);
    const ended: number[] = [];
    for (const { source, link } of rig.associations) {
      void link.closed.then(() => ended.push(source.port));
    }
    await settle();
    assert.deepEqual(ended, [1001]);
    rig.resolver.close();
    await settle();
    assert.equal(ended.length, rig.associations.length);
    assert.equal(rig.closed, 1);
  });

  test('has a bounded number of connections, of which the oldest gives way', async () => {
    const rig = new Rig();
    await rig.resolver.bind(rig.sockets, ADDRESSES);
    const links = Array.from({ length: MOST_LOCAL_CONNECTIONS + 1 }, (_, i) => rig.connect(i + 1));
    let ended = 0;
    for (const { link } of rig.connections) void link.closed.then(() => ended++);
    await settle();
    assert.equal(rig.connections.length, links.length);
    assert.equal(ended, 1);
    rig.resolver.close();
    await settle();
    assert.equal(ended, links.length);
  });

  test('takes nothing where it is not to, and reports an address that another program has', async () => {
    const rig = new Rig();
    rig.takes = false;
    await rig.resolver.bind(rig.sockets, ADDRESSES);
    await rig.ask(1000);
    await assert.rejects(rig.connect(1000).read());
    assert.deepEqual([rig.associations.length, rig.connections.length], [0, 0]);
    rig.resolver.close();
    const other = new Rig();
    other.isTaken = true;
    await other.resolver.bind(other.sockets, ADDRESSES);
    assert.deepEqual(other.unbound, ['172.19.0.1:53: address already in use']);
  });
});
