import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { suite, test } from 'node:test';
import type { ApiClient } from '../../packages/server/test/conformance/api-client.ts';
import { open } from '../support/data/address.ts';
import { BoundSocket } from '../support/links/bound-socket.ts';
import { startFlowLoad } from '../support/peers/flow-load.ts';
import { echoServer, type Origin } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { passing } from '../support/process/passing.ts';
import { Weir } from '../support/process/weir.ts';
import { readExactly } from '../support/read.ts';
import { eventually, within } from '../support/wait.ts';
import { api, apiOf, connections } from './api-support.ts';

/*
 * Several processes accept from one listening socket, as instances of a template unit do that share
 * the sockets of one socket unit: docs/scaling.md.
 */

const LOOPBACK = { host: '127.0.0.1', port: 0 };
/** Enough connections for the kernel to wake each process at least once. */
const MOST_CONNECTIONS = 4_000;
const AT_ONCE = 32;

interface Instance {
  readonly weir: Weir;
  readonly client: ApiClient;
}

/** Processes with one configuration on one listening socket, each with an API of its own. */
class Instances implements AsyncDisposable {
  readonly listener: BoundSocket;
  readonly all: readonly Instance[];

  private constructor(listener: BoundSocket, all: readonly Instance[]) {
    this.listener = listener;
    this.all = all;
  }

  static async start(count: number, io: string): Promise<Instances> {
    const listener = new BoundSocket('stream', LOOPBACK);
    const config = `${api()}${socksIn().replace('port = 0', `port = ${listener.port}`)}${freedom()}`;
    const all = await Promise.all(
      Array.from({ length: count }, async () => {
        const weir = await Weir.start(config, passing([listener], { env: { WEIR_IO: io } }));
        return { weir, client: await apiOf(weir) };
      }),
    );
    return new Instances(listener, all);
  }

  /** Opens a flow to `origin` and sends a byte through it and back. */
  async flow(origin: Origin): Promise<Socket> {
    const socket = await socksConnect(this.listener.address, origin.target);
    await exchange(socket);
    return socket;
  }

  /** The number of flows that each process has. */
  counts(): Promise<number[]> {
    return Promise.all(
      this.all.map(async ({ client }) => (await connections(client)).flows.length),
    );
  }

  /**
   * Opens flows until each process has `least`.
   *
   * @returns the flows, which the caller closes.
   */
  async spread(origin: Origin, least: number): Promise<Socket[]> {
    const sockets: Socket[] = [];
    while (Math.min(...(await this.counts())) < least) {
      assert.ok(sockets.length < MOST_CONNECTIONS, 'a process that accepts nothing');
      const more = Array.from({ length: AT_ONCE }, () => this.flow(origin));
      sockets.push(...(await Promise.all(more)));
    }
    return sockets;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.all.map(({ weir }) => weir[Symbol.asyncDispose]()));
    this.listener[Symbol.dispose]();
  }
}

async function exchange(socket: Socket): Promise<void> {
  socket.write('x');
  assert.equal((await readExactly(socket, 1)).toString(), 'x');
}

/** Which of `sockets` were reset or ended. */
const lost = (sockets: readonly Socket[]): readonly Socket[] =>
  sockets.filter((socket) => socket.readableEnded || socket.destroyed);

for (const io of ['kernel', 'node']) {
  suite(`processes that share a listening socket, with WEIR_IO=${io}`, () => {
    for (const count of [2, 4]) {
      test(`${count} of them all serve connections`, async () => {
        await using origin = await echoServer();
        await using instances = await Instances.start(count, io);
        const sockets = await instances.spread(origin, 4);
        const counts = await instances.counts();
        assert.equal(counts.length, count);
        assert.equal(
          counts.reduce((sum, one) => sum + one, 0),
          sockets.length,
          'every flow belongs to one process',
        );
        for (const socket of sockets) socket.destroy();
      });
    }

    test('one that stops drains its flows, and no client is refused', async () => {
      await using origin = await echoServer();
      await using instances = await Instances.start(2, io);
      const sockets = await instances.spread(origin, 8);
      const more = startFlowLoad(() => instances.flow(origin));
      const [first, second] = instances.all as readonly [Instance, Instance];
      first.weir.child.signal('SIGTERM');
      await first.weir.child.until('the stop', ({ stderr }) =>
        stderr.includes('svc_app: shutting down') ? true : undefined,
      );
      await Promise.all(sockets.map(exchange));
      assert.deepEqual(lost(sockets), []);
      for (const socket of sockets) socket.destroy();
      assert.equal((await within(first.weir.child.exited, 'its end')).code, 0);
      assert.ok((await more.end()) > 0);
      (await instances.flow(origin)).destroy();
      await eventually('the other to be idle', async () =>
        (await connections(second.client)).flows.length === 0 ? true : undefined,
      );
    });

    test('one that is killed takes only its own flows along, and no client is refused', async () => {
      await using origin = await echoServer();
      await using instances = await Instances.start(2, io);
      const sockets = await instances.spread(origin, 8);
      for (const socket of sockets) socket.on('error', () => undefined).resume();
      const [first, second] = instances.all as readonly [Instance, Instance];
      const [ofFirst = 0, ofSecond = 0] = await instances.counts();
      // Neither accepts, so that these clients wait in the queue which both share.
      first.weir.child.signal('SIGSTOP');
      second.weir.child.signal('SIGSTOP');
      const waiting = await Promise.all(
        Array.from({ length: 8 }, () => open(instances.listener.address)),
      );
      first.weir.child.signal('SIGKILL');
      await within(first.weir.child.exited, 'its end');
      second.weir.child.signal('SIGCONT');
      for (const socket of waiting) {
        socket.write(Buffer.from([5, 1, 0]));
        assert.deepEqual([...(await readExactly(socket, 2))], [5, 0]);
        socket.destroy();
      }
      await eventually('its flows to end', () => lost(sockets).length >= ofFirst);
      assert.equal(lost(sockets).length, ofFirst);
      const survivors = sockets.filter((socket) => !lost(sockets).includes(socket));
      assert.equal(survivors.length, ofSecond);
      for (const socket of survivors) {
        socket.write('y');
        const [chunk] = (await within(once(socket, 'data'), 'the echo')) as [Buffer];
        assert.equal(chunk.toString(), 'y');
        socket.destroy();
      }
      (await instances.flow(origin)).destroy();
    });
  });
}
