import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { parseIP } from '../../src/net/address.ts';
import type {
  DatagramHandlers,
  DatagramSocket,
  NumericEndpoint,
} from '../../src/net/datagram-socket.ts';
import { ReadQueue } from '../../src/net/read-queue.ts';

/** Binds a socket under test to an IP address in text and a port that the kernel chooses. */
export type OpenDatagramSocket = (
  address: string,
  handlers: DatagramHandlers,
) => Promise<DatagramSocket>;

/** One datagram that the socket under test passed on; everything in it is a copy. */
interface Received {
  readonly data: readonly number[];
  readonly address: readonly number[];
  readonly port: number;
}

/** A socket under test on one address, and a plain one on loopback beside it. */
class Fixture implements AsyncDisposable {
  readonly socket: DatagramSocket;
  /** Datagrams that came to the socket under test, taken apart by their stride. */
  readonly received: ReadQueue<Received>;
  readonly peer: NumericEndpoint;
  readonly #plain: Socket;
  readonly #arrived = new ReadQueue<{ readonly data: Buffer; readonly port: number }>();
  readonly #host: string;

  private constructor(
    socket: DatagramSocket,
    received: ReadQueue<Received>,
    plain: Socket,
    host: string,
  ) {
    this.socket = socket;
    this.received = received;
    this.#plain = plain;
    this.#host = host;
    this.peer = numeric(host, plain.address().port);
    plain.on('message', (data, { port }) => this.#arrived.push({ data, port }));
  }

  static async open(
    open: OpenDatagramSocket,
    bound: string,
    loopback: string = bound,
  ): Promise<Fixture> {
    const received = new ReadQueue<Received>();
    const socket = await open(bound, {
      onDatagrams: ({ data, stride, peer }) => {
        const from = { address: [...peer.address], port: peer.port };
        let at = 0;
        do {
          received.push({ data: [...data.subarray(at, at + stride)], ...from });
          at += stride;
        } while (at < data.length);
      },
    });
    const plain = createSocket(loopback.includes(':') ? 'udp6' : 'udp4');
    plain.bind(0, loopback);
    await once(plain, 'listening');
    return new Fixture(socket, received, plain, loopback);
  }

  /** Sends a datagram to the socket under test. */
  deliver(data: Uint8Array): void {
    this.#plain.send(data, this.socket.local.port, this.#host);
  }

  /** The next datagram that came to the plain socket from the one under test. */
  async arrived(): Promise<number[]> {
    const { data, port } = (await this.#arrived.take()) ?? {};
    assert.ok(data);
    assert.equal(port, this.socket.local.port);
    return [...data];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.close();
    await this.socket.closed;
    this.#plain.close();
  }
}

function numeric(host: string, port: number): NumericEndpoint {
  const address = parseIP(host);
  assert.ok(address);
  return { address, port, scope: 0 };
}

const SENT = { offset: 0, full: false };

/** Checks the contract of `src/net/datagram-socket.ts`. */
export function datagramSocketConformance(name: string, open: OpenDatagramSocket): void {
  const check = (title: string, body: (fixture: Fixture) => Promise<void>): void => {
    for (const address of ['127.0.0.1', '::1']) {
      test(`${title} (${address})`, async () => {
        await using fixture = await Fixture.open(open, address);
        await body(fixture);
      });
    }
  };

  describe(`${name} keeps the contract of a DatagramSocket`, () => {
    check('datagrams arrive whole, in order and with their source', async (fixture) => {
      const { socket, peer, received } = fixture;
      const sent = [
        Uint8Array.of(1),
        new Uint8Array(1400).fill(2),
        new Uint8Array(0),
        Uint8Array.of(3),
      ];
      for (const data of sent) fixture.deliver(data);
      for (const data of sent) {
        const expected = { data: [...data], address: [...peer.address], port: peer.port };
        assert.deepEqual(await received.take(), expected);
      }
      assert.equal(socket.overflowed, 0);
    });

    check('transmits leave whole and in order', async (fixture) => {
      const { socket, peer: destination } = fixture;
      const sent = [
        Uint8Array.of(1),
        new Uint8Array(1400).fill(2),
        new Uint8Array(0),
        Uint8Array.of(3),
      ];
      const result = socket.send(sent.map((data) => ({ destination, data })));
      assert.deepEqual(result, { ...SENT, done: sent.length });
      for (const data of sent) assert.deepEqual(await fixture.arrived(), [...data]);
      assert.equal(socket.dropped, 0);
    });

    check('a transmit with a segment size is several datagrams', async (fixture) => {
      const { socket, peer: destination } = fixture;
      const data = Uint8Array.from({ length: 2500 }, (_, index) => index % 251);
      socket.send([{ destination, data, segmentSize: 1200 }]);
      for (const [from, to] of [
        [0, 1200],
        [1200, 2400],
        [2400, 2500],
      ]) {
        assert.deepEqual(await fixture.arrived(), [...data.subarray(from, to)]);
      }
    });

    check('an offset skips what an earlier call has sent', async (fixture) => {
      const { socket, peer: destination } = fixture;
      const data = Uint8Array.of(1, 2, 3, 4, 5);
      const transmits = [
        { destination, data, segmentSize: 2 },
        { destination, data: Uint8Array.of(9) },
      ];
      assert.deepEqual(socket.send(transmits, 2), { ...SENT, done: 2 });
      assert.deepEqual(await fixture.arrived(), [3, 4]);
      assert.deepEqual(await fixture.arrived(), [5]);
      assert.deepEqual(await fixture.arrived(), [9]);
    });

    check('records and buffers may be reused after a send', async (fixture) => {
      const { socket, peer } = fixture;
      const destination = { address: Uint8Array.from(peer.address), port: peer.port, scope: 0 };
      const data = Uint8Array.of(1, 1);
      socket.send([{ destination, data }]);
      data.fill(2);
      destination.address.fill(0);
      destination.port = 0;
      socket.send([{ destination, data }]);
      destination.address.set(peer.address);
      destination.port = peer.port;
      data.fill(3);
      socket.send([{ destination, data }]);
      assert.deepEqual(await fixture.arrived(), [1, 1]);
      assert.deepEqual(await fixture.arrived(), [3, 3]);
      assert.equal(socket.dropped, 1);
    });

    check('a datagram that cannot be sent costs that datagram alone', async (fixture) => {
      const { socket, peer } = fixture;
      const data = Uint8Array.of(1, 2, 3);
      const otherFamily = peer.address.length === 4 ? '::1' : '127.0.0.1';
      const { done } = socket.send([
        { destination: { ...peer, port: 0 }, data },
        { destination: numeric(otherFamily, peer.port), data },
        { destination: { ...peer, address: new Uint8Array(5) }, data },
        { destination: peer, data: new Uint8Array(65_600) },
        { destination: peer, data, segmentSize: 0 },
        { destination: { ...peer, port: 0 }, data, segmentSize: 2 },
        { destination: peer, data: Uint8Array.of(7) },
      ]);
      assert.equal(done, 7);
      assert.deepEqual(await fixture.arrived(), [7]);
      assert.equal(socket.dropped, 7);
    });

    check('an ICMP error leaves the socket open', async (fixture) => {
      const { socket, peer } = fixture;
      const gone = createSocket(peer.address.length === 4 ? 'udp4' : 'udp6');
      gone.bind(0, peer.address.length === 4 ? '127.0.0.1' : '::1');
      await once(gone, 'listening');
      const { port } = gone.address();
      gone.close();
      await once(gone, 'close');
      const destination = { ...peer, port };
      for (let i = 0; i < 4; i++) socket.send([{ destination, data: Uint8Array.of(i) }]);
      fixture.deliver(Uint8Array.of(5));
      assert.deepEqual((await fixture.received.take())?.data, [5]);
      socket.send([{ destination: peer, data: Uint8Array.of(6) }]);
      assert.deepEqual(await fixture.arrived(), [6]);
    });

    check('a closed socket drops and counts what is sent', async (fixture) => {
      const { socket, peer: destination } = fixture;
      socket.close();
      const result = socket.send([
        { destination, data: Uint8Array.of(1) },
        { destination, data: Uint8Array.of(1, 2, 3), segmentSize: 2 },
      ]);
      assert.deepEqual(result, { ...SENT, done: 2 });
      assert.equal(socket.dropped, 3);
      assert.equal(await socket.closed, undefined);
    });

    check('close is idempotent and keeps its first cause', async ({ socket }) => {
      const cause = new Error('the endpoint has failed');
      socket.close(cause);
      socket.close();
      assert.equal(await socket.closed, cause);
    });

    check('the port of a closed socket is free', async (fixture) => {
      const { socket, peer } = fixture;
      const { port } = socket.local;
      socket.close();
      await socket.closed;
      const next = createSocket(peer.address.length === 4 ? 'udp4' : 'udp6');
      next.bind(port, peer.address.length === 4 ? '127.0.0.1' : '::1');
      await once(next, 'listening');
      next.close();
    });

    test('an address that this host does not have cannot be bound', async () => {
      await assert.rejects(open('192.0.2.1', { onDatagrams: () => undefined }), {
        code: 'EADDRNOTAVAIL',
      });
    });

    test('IPv4 peers of a dual-stack socket have IPv4 addresses', async () => {
      await using fixture = await Fixture.open(open, '::', '127.0.0.1');
      const { socket, peer: destination, received } = fixture;
      assert.deepEqual([...socket.local.address], [...new Uint8Array(16)]);
      fixture.deliver(Uint8Array.of(1));
      assert.deepEqual((await received.take())?.address, [127, 0, 0, 1]);
      socket.send([{ destination, data: Uint8Array.of(2) }]);
      assert.deepEqual(await fixture.arrived(), [2]);
    });
  });
}
