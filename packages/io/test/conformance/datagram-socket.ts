import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import {
  type DatagramHandlers,
  type DatagramSocket,
  type DatagramSocketOptions,
  type Transmit,
  addressText,
  toEndpoint,
  type IpEndpoint,
} from '@weir/base/ip';
import { ReadQueue } from '../../src/net/links/read-queue.ts';
import { hasIPv6 } from '../../../../test/support/ports.ts';

/** Opens a socket under test. */
export type OpenDatagramSocket = (
  options: DatagramSocketOptions,
  handlers: DatagramHandlers,
) => Promise<DatagramSocket>;

/** One datagram that the socket under test passed on; everything in it is a copy. */
interface Received {
  readonly data: readonly number[];
  readonly address: string;
  readonly port: number;
  readonly own: string | undefined;
  readonly ecn: number;
}

/** A socket under test on one address, and a plain one on loopback beside it. */
class Fixture implements AsyncDisposable {
  readonly socket: DatagramSocket;
  /** Datagrams that came to the socket under test, taken apart by their stride. */
  readonly received: ReadQueue<Received>;
  readonly peer: IpEndpoint;
  readonly #plain: Socket;
  readonly #arrived = new ReadQueue<{ readonly data: Buffer; readonly port: number }>();
  readonly #host: string;

  private constructor(under: UnderTest, plain: Socket, host: string) {
    this.socket = under.socket;
    this.received = under.received;
    this.#plain = plain;
    this.#host = host;
    this.peer = numeric(host, plain.address().port);
    plain.on('message', (data, { port }) => this.#arrived.push({ data, port }));
  }

  static async open(
    open: OpenDatagramSocket,
    bound: string,
    loopback: string = bound,
    options: Omit<DatagramSocketOptions, 'local'> = {},
  ): Promise<Fixture> {
    const under = await openUnderTest(open, bound, options);
    const plain = createSocket(loopback.includes(':') ? 'udp6' : 'udp4');
    plain.bind(0, loopback);
    await once(plain, 'listening');
    return new Fixture(under, plain, loopback);
  }

  /** Sends a datagram to the socket under test. */
  deliver(data: Uint8Array, host = this.#host): void {
    this.#plain.send(data, this.socket.local.port, host);
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

interface UnderTest extends AsyncDisposable {
  readonly socket: DatagramSocket;
  readonly received: ReadQueue<Received>;
}

async function openUnderTest(
  open: OpenDatagramSocket,
  bound: string,
  options: Omit<DatagramSocketOptions, 'local'> = {},
  handlers: Partial<DatagramHandlers> = {},
): Promise<UnderTest> {
  const received = new ReadQueue<Received>();
  const socket = await open(
    { ...options, local: numeric(bound, 0) },
    {
      onDatagrams: ({ buffer, offset, length, stride, peer, own, ecn }) => {
        const rest = {
          address: addressText(peer),
          port: peer.port,
          own: own && addressText(own),
          ecn,
        };
        let at = 0;
        do {
          const size = Math.min(stride, length - at);
          received.push({ data: [...buffer.subarray(offset + at, offset + at + size)], ...rest });
          at += size;
        } while (at < length);
      },
      ...handlers,
    },
  );
  return {
    socket,
    received,
    [Symbol.asyncDispose]: async () => {
      socket.close();
      await socket.closed;
    },
  };
}

function numeric(host: string, port: number): IpEndpoint {
  return toEndpoint(host, port) ?? assert.fail(host);
}

/** A whole buffer as one datagram, unless `more` says otherwise. */
export const transmit = (
  destination: IpEndpoint,
  buffer: Uint8Array,
  more: Partial<Transmit> = {},
): Transmit => ({
  destination,
  buffer,
  offset: 0,
  length: buffer.length,
  segmentSize: 0,
  source: undefined,
  ecn: 0,
  ...more,
});

const SENT = { sentBytes: 0, full: false, tooLarge: 0, firstTooLarge: -1 };

/** Checks the contract of `packages/base/src/ip/datagram-socket.ts`. */
export function datagramSocketConformance(name: string, open: OpenDatagramSocket): void {
  const check = (title: string, body: (fixture: Fixture) => Promise<void>): void => {
    for (const address of hasIPv6 ? ['127.0.0.1', '::1'] : ['127.0.0.1']) {
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
        const next = (await received.take()) ?? assert.fail();
        assert.deepEqual(next.data, [...data]);
        assert.deepEqual([next.address, next.port], [addressText(peer), peer.port]);
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
      const result = socket.send(sent.map((data) => transmit(destination, data)));
      assert.deepEqual(result, { ...SENT, done: sent.length });
      for (const data of sent) assert.deepEqual(await fixture.arrived(), [...data]);
      assert.equal(socket.dropped, 0);
    });

    check('a transmit with a segment size is several datagrams', async (fixture) => {
      const { socket, peer: destination } = fixture;
      const data = Uint8Array.from({ length: 2500 }, (_, index) => index % 251);
      socket.send([transmit(destination, data, { segmentSize: 1200 })]);
      for (const [from, to] of [
        [0, 1200],
        [1200, 2400],
        [2400, 2500],
      ]) {
        assert.deepEqual(await fixture.arrived(), [...data.subarray(from, to)]);
      }
    });

    check('a count and an offset choose what an earlier call has not sent', async (fixture) => {
      const { socket, peer: destination } = fixture;
      const data = Uint8Array.of(1, 2, 3, 4, 5);
      const transmits = [
        transmit(destination, data, { segmentSize: 2 }),
        transmit(destination, Uint8Array.of(9)),
        transmit(destination, Uint8Array.of(10)),
      ];
      assert.deepEqual(socket.send(transmits, 2, 2), { ...SENT, done: 2 });
      assert.deepEqual(await fixture.arrived(), [3, 4]);
      assert.deepEqual(await fixture.arrived(), [5]);
      assert.deepEqual(await fixture.arrived(), [9]);
    });

    check(
      'transmits share one buffer, and a run of one size keeps its borders',
      async (fixture) => {
        const { socket, peer: destination } = fixture;
        const arena = Uint8Array.from({ length: 4096 }, (_, index) => index % 251);
        const parts = [
          [7, 500],
          [600, 500],
          [1100, 500],
          [3000, 20],
          [2000, 500],
          [2600, 501],
          [10, 0],
          [100, 1],
        ] as const;
        const result = socket.send(
          parts.map(([offset, length]) => transmit(destination, arena, { offset, length })),
        );
        assert.deepEqual(result, { ...SENT, done: parts.length });
        for (const [offset, length] of parts) {
          assert.deepEqual(await fixture.arrived(), [...arena.subarray(offset, offset + length)]);
        }
      },
    );

    check('datagrams to several peers each reach their own', async (fixture) => {
      const { socket, peer } = fixture;
      await using other = await openUnderTest(open, addressText(peer));
      const transmits = Array.from({ length: 300 }, (_, index) =>
        transmit(index % 3 === 0 ? other.socket.local : peer, Uint8Array.of(index & 0xff, 1)),
      );
      // In parts, so that no receive buffer overflows.
      for (let at = 0; at < 300; at += 30) {
        assert.equal(socket.send(transmits.slice(at, at + 30)).done, 30);
        for (let index = at; index < at + 30; index++) {
          const data =
            index % 3 === 0 ? (await other.received.take())?.data : await fixture.arrived();
          assert.deepEqual(data, [index & 0xff, 1]);
        }
      }
    });

    check('records and buffers may be reused after a send', async (fixture) => {
      const { socket, peer } = fixture;
      const destination = { ...peer };
      const data = Uint8Array.of(1, 1);
      const record = transmit(destination, data);
      socket.send([record]);
      data.fill(2);
      destination.port = 0;
      socket.send([record]);
      destination.port = peer.port;
      data.fill(3);
      socket.send([record]);
      assert.deepEqual(await fixture.arrived(), [1, 1]);
      assert.deepEqual(await fixture.arrived(), [3, 3]);
      assert.equal(socket.dropped, 1);
    });

    check('a datagram that cannot be sent costs that datagram alone', async (fixture) => {
      const { socket, peer } = fixture;
      const data = Uint8Array.of(1, 2, 3);
      const isIPv4 = !addressText(peer).includes(':');
      const otherFamily = isIPv4 ? '::1' : '127.0.0.1';
      const transferred = new Uint8Array(100);
      structuredClone(transferred, { transfer: [transferred.buffer] });
      const { done } = socket.send([
        transmit({ ...peer, port: 0 }, data),
        transmit({ ...peer, port: 65_536 }, data),
        transmit(numeric(otherFamily, peer.port), data),
        transmit(peer, data, { source: numeric(otherFamily, 0) }),
        transmit(peer, new Uint8Array(65_600)),
        transmit(peer, data, { offset: 1 }),
        transmit(peer, data, { offset: -1 }),
        transmit(peer, data, { length: -1 }),
        transmit(peer, transferred, { length: 100 }),
        transmit({ ...peer, port: 0 }, data, { segmentSize: 2 }),
        transmit(peer, Uint8Array.of(7)),
      ]);
      assert.equal(done, 11);
      assert.deepEqual(await fixture.arrived(), [7]);
      assert.equal(socket.dropped, 11);
    });

    check('an ICMP error leaves the socket open', async (fixture) => {
      const { socket, peer } = fixture;
      const gone = createSocket(addressText(peer).includes(':') ? 'udp6' : 'udp4');
      gone.bind(0, addressText(peer));
      await once(gone, 'listening');
      const { port } = gone.address();
      gone.close();
      await once(gone, 'close');
      const destination = { ...peer, port };
      for (let i = 0; i < 4; i++) socket.send([transmit(destination, Uint8Array.of(i))]);
      fixture.deliver(Uint8Array.of(5));
      assert.deepEqual((await fixture.received.take())?.data, [5]);
      socket.send([transmit(peer, Uint8Array.of(6))]);
      assert.deepEqual(await fixture.arrived(), [6]);
    });

    check('a closed socket drops and counts what is sent', async (fixture) => {
      const { socket, peer: destination } = fixture;
      socket.close();
      const result = socket.send([
        transmit(destination, Uint8Array.of(1)),
        transmit(destination, Uint8Array.of(1, 2, 3), { segmentSize: 2 }),
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
      const next = createSocket(addressText(peer).includes(':') ? 'udp6' : 'udp4');
      next.bind(port, addressText(peer));
      await once(next, 'listening');
      next.close();
    });

    test('an address that this host does not have cannot be bound', async () => {
      await assert.rejects(openUnderTest(open, '192.0.2.1'), {
        code: 'EADDRNOTAVAIL',
      });
    });

    check(
      'a response may be sent from the handlers, and all of them close the socket',
      async () => {
        const ends = ['onDatagrams', 'onDrained'] as const;
        for (const end of ends) {
          let calls = 0;
          const handler = (): void => {
            calls++;
            const echo = transmit(client.socket.local, Uint8Array.of(calls));
            server.socket.send([echo]);
            server.socket.close();
          };
          await using server = await openUnderTest(open, '127.0.0.1', {}, { [end]: handler });
          await using client = await openUnderTest(open, '127.0.0.1');
          const request = transmit(server.socket.local, Uint8Array.of(9));
          client.socket.send([request, request]);
          assert.deepEqual((await client.received.take())?.data, [1]);
          await server.socket.closed;
          assert.equal(calls, 1);
        }
      },
    );

    check('large buffers may be asked for, whatever the system allows', async ({ peer }) => {
      const size = 4 << 20;
      const options = { receiveBuffer: size, sendBuffer: size };
      await using near = await openUnderTest(open, addressText(peer), options);
      near.socket.send([transmit(near.socket.local, Uint8Array.of(1))]);
      assert.deepEqual((await near.received.take())?.data, [1]);
    });

    check('segments that may arrive together are the same datagrams', async ({ socket, peer }) => {
      const options = { coalesce: true, receiveBuffer: 1 << 20 };
      await using far = await openUnderTest(open, addressText(peer), options);
      const data = Uint8Array.from({ length: 12_007 }, (_, index) => index % 251);
      socket.send([
        transmit(far.socket.local, data, { segmentSize: 1200 }),
        transmit(far.socket.local, Uint8Array.of(1)),
      ]);
      for (let at = 0; at < data.length; at += 1200) {
        const expected = [...data.subarray(at, at + 1200)];
        assert.deepEqual((await far.received.take())?.data, expected);
      }
      assert.deepEqual((await far.received.take())?.data, [1]);
    });

    check('ECN bits arrive where the features say so', async ({ peer }) => {
      const options = { details: true };
      await using near = await openUnderTest(open, addressText(peer), options);
      await using far = await openUnderTest(open, addressText(peer), options);
      for (const ecn of [2, 0, 1, 3] as const) {
        near.socket.send([transmit(far.socket.local, Uint8Array.of(1), { ecn })]);
        const expected = near.socket.features.ecn ? ecn : 0;
        assert.equal((await far.received.take())?.ecn, expected);
      }
    });

    for (const [bound, loopback, own] of [
      ['0.0.0.0', '127.0.0.1', '127.0.0.9'],
      ['::', '127.0.0.1', '127.0.0.9'],
      ['::', '::1', '::1'],
    ] as const) {
      if (bound === '::' && !hasIPv6) continue;
      test(`on ${bound} the own address ${own} is known and obeyed where the features say so`, async () => {
        await using fixture = await Fixture.open(open, bound, loopback, { details: true });
        const { socket, peer, received } = fixture;
        fixture.deliver(Uint8Array.of(1), own);
        assert.equal((await received.take())?.own, socket.features.ownAddress ? own : undefined);
        await using client = await openUnderTest(open, loopback);
        const source = numeric(own, 0);
        socket.send([
          transmit({ ...peer, port: client.socket.local.port }, Uint8Array.of(2), { source }),
        ]);
        const { address, data } = (await client.received.take()) ?? assert.fail();
        assert.deepEqual(data, [2]);
        assert.equal(address, socket.features.ownAddress ? own : loopback);
      });
    }

    check('a socket on one address knows it', async ({ peer }) => {
      await using near = await openUnderTest(open, addressText(peer), { details: true });
      near.socket.send([transmit(near.socket.local, Uint8Array.of(1))]);
      assert.equal((await near.received.take())?.own, addressText(peer));
    });

    // Loopback takes 65,536 bytes: an IPv6 datagram of this size has to be fragmented.
    test(
      'what the path does not take is reported where the features say so',
      { skip: !hasIPv6 },
      async () => {
        await using far = await openUnderTest(open, '::1', { receiveBuffer: 1 << 20 });
        await using near = await openUnderTest(open, '::1', { dontFragment: true });
        const large = new Uint8Array(65_500);
        const destination = far.socket.local;
        const { ...result } = near.socket.send([
          transmit(destination, Uint8Array.of(1)),
          transmit(destination, large),
          transmit(destination, Uint8Array.of(2)),
          transmit(destination, large),
          transmit(destination, Uint8Array.of(3)),
        ]);
        const sizes = [];
        const isReported = near.socket.features.dontFragment;
        for (let i = 0; i < (isReported ? 3 : 5); i++) {
          sizes.push((await far.received.take())?.data.length);
        }
        assert.deepEqual(sizes, isReported ? [1, 1, 1] : [1, 65_500, 1, 65_500, 1]);
        assert.equal(near.socket.dropped, isReported ? 2 : 0);
        const reported = { tooLarge: 2, firstTooLarge: 1 };
        assert.deepEqual(result, { ...SENT, done: 5, ...(isReported ? reported : {}) });
      },
    );

    test('IPv4 peers of a dual-stack socket have IPv4 addresses', { skip: !hasIPv6 }, async () => {
      await using fixture = await Fixture.open(open, '::', '127.0.0.1');
      const { socket, peer: destination, received } = fixture;
      assert.equal(addressText(socket.local), '::');
      fixture.deliver(Uint8Array.of(1));
      assert.equal((await received.take())?.address, '127.0.0.1');
      socket.send([transmit(destination, Uint8Array.of(2))]);
      assert.deepEqual(await fixture.arrived(), [2]);
    });
  });
}
