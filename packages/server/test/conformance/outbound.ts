import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { describe, test } from 'node:test';
import { silentLogger } from '@weir/base/log';
import type { Endpoint, Resolver } from '@weir/io/addresses';
import { systemClock } from '@weir/io/time';
import { abortedDial, DeadlineError, DialError, type DialErrorCode, ServerReach } from '@weir/io';
import type { ByteLink, PacketLink } from '@weir/io/links';
import { KeptObjects } from '@weir/base/collections';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { loadProtocols, type Outbound } from '@weir/proxy/protocols';
import type { OutboundSpec } from '@weir/proxy/spec';
import { buildOutbound, loadForOutbounds } from '../../src/supervisor/build.ts';
import { bodyOf, pattern, receiveBody, sendBody } from '../../../../test/support/data/pattern.ts';
import { freePort } from '../../../../test/support/ports.ts';
import { openSockets } from '../../../../test/support/process/proc.ts';
import {
  echoServer,
  type Origin,
  tcpServer,
  udpEcho,
} from '../../../../test/support/peers/servers.ts';
import { eventually, within } from '../../../../test/support/wait.ts';
import { readAll } from '../../../io/test/conformance/byte-link.ts';

/** A server of the outbound's protocol that reaches every destination on loopback. */
export interface OutboundServer extends AsyncDisposable {
  readonly address: Endpoint;
  /** Sessions and flows that it has. */
  readonly live: () => number;
}

/** One protocol, and what its users may expect of it beyond the contract. */
export interface OutboundHarness {
  /** `undefined` where the protocol has no server, or none is dialled. */
  readonly server?: () => Promise<OutboundServer>;
  /** The outbound in front of a server. */
  readonly spec: (server: Endpoint) => Promise<OutboundSpec>;
  /** Whether streams are carried; otherwise the code of the error. */
  readonly streams: 'carried' | DialErrorCode;
  /** The same for datagrams. */
  readonly packets: 'carried' | DialErrorCode;
  /** What a destination that refuses connections looks like: a link that ends where no response is waited for. */
  readonly refused: DialErrorCode | 'a link that ends';
  /** Whether a stream waits for a response of the server. */
  readonly awaitsServer: boolean;
  /** Whether flows share a connection, which outlives the dial that it was opened for. */
  readonly shares: boolean;
  /** Whether the server learns of the end of an association by nothing but a long silence. */
  readonly endsBySilence: boolean;
}

const BODY = 3 << 20;
/** Nothing answers for this name. */
const SILENT = 'silent.test';
/** The server of an outbound that has none. */
const UNUSED: Endpoint = { host: '127.0.0.1', port: 1 };
/** Nothing listens there. Taken before any test counts its sockets, since one of this process claims it. */
const REFUSING: Endpoint = { host: '127.0.0.1', port: await freePort() };
const patient = { signal: new AbortController().signal };
const over = new Error('the test is over');

const resolver: Resolver = {
  resolve: (host, _policy, signal) => {
    if (isIP(host) !== 0) return Promise.resolve([host]);
    return new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(abortedDial(signal)), { once: true });
    });
  },
};

interface CheckOptions {
  readonly changes?: Partial<OutboundSpec>;
  /** The server does not learn of the end. */
  readonly silent?: boolean;
}

/** The promises of `Outbound`, over sockets of the kernel. */
export function outboundConformance(name: string, harness: OutboundHarness): void {
  describe(name, () => {
    const build = async (
      address: Endpoint,
      changes: Partial<OutboundSpec> = {},
    ): Promise<Outbound> => {
      const spec = { ...(await harness.spec(address)), ...changes };
      const deps = { clock: systemClock, log: silentLogger, resolver };
      await loadProtocols([spec.protocol]);
      const makers = await loadForOutbounds([spec]);
      const { version } = buildOutbound(spec, 1, makers, {
        ...deps,
        ownListeners: new OwnListeners(),
        shared: new KeptObjects(),
        stopped: new AbortController().signal,
      });
      return version.outbound;
    };

    /** Nothing may be left of what the body does with an outbound, once that is closed. */
    const check = (
      title: string,
      body: (outbound: Outbound, sockets: number) => Promise<void>,
      { changes = {}, silent = false }: CheckOptions = {},
    ): void => {
      test(title, async () => {
        const before = openSockets();
        {
          await using server = await harness.server?.();
          const sockets = openSockets();
          const outbound = await build(server?.address ?? UNUSED, changes);
          try {
            await body(outbound, sockets);
          } finally {
            outbound.close();
          }
          if (!silent) {
            await released(sockets);
            await eventually('the end of all flows', () => (server?.live() ?? 0) === 0);
          }
        }
        await released(before);
      });
    };

    check('closes without having been used, and more than once', (outbound) => {
      outbound.close();
      outbound.close();
      return Promise.resolve();
    });

    const { streams, packets } = harness;
    if (streams === 'carried') carries();
    else {
      check(`rejects every stream as ${streams}`, async (outbound) => {
        const dialled = outbound.connect({ host: '127.0.0.1', port: 1 }, patient);
        await assert.rejects(dialled, failure(streams));
      });
    }
    if (packets === 'carried') carriesPackets();
    else {
      check(`rejects every association as ${packets}`, (outbound) =>
        assert.rejects(outbound.associate(patient), failure(packets)),
      );
    }

    function carries(): void {
      check('a client that ends first still gets the response', async (outbound) => {
        await using origin = await tcpServer(async (socket) => {
          const body = await receiveBody(socket);
          await sendBody(socket, BODY, 2);
          socket.end(JSON.stringify(body));
        });
        const link = await outbound.connect(origin.target, patient);
        const [response] = await Promise.all([readAll(link), send(link, BODY)]);
        assert.equal(await link.closed, undefined);
        assert.equal(String(response.subarray(BODY)), JSON.stringify(bodyOf(BODY)));
        assert.deepEqual(response.subarray(0, BODY), Buffer.concat([...pattern(BODY, 2)]));
      });

      check('a server that ends first still gets the rest', async (outbound) => {
        const received = Promise.withResolvers<unknown>();
        await using origin = await tcpServer(async (socket) => {
          const body = receiveBody(socket);
          socket.end('welcome');
          received.resolve(await body);
        });
        const link = await outbound.connect(origin.target, patient);
        assert.equal(String(await readAll(link)), 'welcome');
        await send(link, BODY);
        assert.deepEqual(await within(received.promise, 'the rest'), bodyOf(BODY));
        await link.closed;
      });

      check('destroying a link ends it at the destination', async (outbound) => {
        const gone = Promise.withResolvers<void>();
        await using origin = await tcpServer((socket) => {
          socket.on('close', () => gone.resolve()).pipe(socket);
        });
        const link = await outbound.connect(origin.target, patient);
        await link.write(Buffer.from('hello'));
        assert.equal(String(await link.read()), 'hello');
        const pending = assert.rejects(link.read(), over);
        link.destroy(over);
        await pending;
        assert.equal(await link.closed, over);
        await within(gone.promise, 'the end of the connection at the destination');
      });

      check('a destination that refuses', async (outbound) => {
        const dialled = outbound.connect(REFUSING, patient);
        if (harness.refused === 'a link that ends') {
          const link = await dialled;
          const ended = await link.read().catch(() => undefined);
          assert.equal(ended, undefined);
          link.destroy();
        } else await assert.rejects(dialled, failure(harness.refused));
      });

      check('a destination that refuses is not taken for the server', async (outbound) => {
        const reach = new ServerReach();
        const dialled = outbound.connect(REFUSING, { ...patient, reach });
        await dialled.then(
          (link) => link.destroy(),
          () => undefined,
        );
        assert.equal(reach.isMissed, false);
      });

      // A balancer has no members over QUIC.
      if (harness.server && !harness.shares) {
        check(
          'a server that refuses is told from a destination',
          async (outbound) => {
            const reach = new ServerReach();
            await assert.rejects(outbound.connect(REFUSING, { ...patient, reach }));
            assert.equal(reach.isMissed, true);
          },
          { changes: { server: REFUSING.host, port: REFUSING.port } },
        );

        // Those that end by silence send datagrams without a connection.
        if (packets === 'carried' && !harness.endsBySilence) {
          check(
            'an association fails if the server is not reached',
            async (outbound) => {
              const reach = new ServerReach();
              const options = { ...patient, reach, first: { host: '127.0.0.1', port: 1 } };
              await assert.rejects(outbound.associate(options));
              assert.equal(reach.isMissed, true);
            },
            { changes: { server: REFUSING.host, port: REFUSING.port } },
          );
        }
      }

      check('links are independent of each other', async (outbound) => {
        await using echo = await echoServer();
        const dials = Array.from({ length: 50 }, () => outbound.connect(echo.target, patient));
        const links = await Promise.all(dials);
        for (const [i, link] of links.entries()) if (i % 2 === 0) link.destroy(over);
        for (const [i, link] of links.entries()) {
          if (i % 2 === 0) continue;
          await link.write(Buffer.from(`link ${i}`));
          assert.equal(String(await link.read()), `link ${i}`);
          await link.closeWrite();
          assert.equal(await link.read(), undefined);
        }
      });

      check('closing under live links leaves nothing once they have ended', async (outbound) => {
        await using echo = await echoServer();
        const link = await outbound.connect(echo.target, patient);
        await link.write(Buffer.from('hello'));
        assert.equal(String(await link.read()), 'hello');
        outbound.close();
        link.destroy(over);
        await link.closed;
      });

      check('a dial whose signal has aborted reaches nothing', async (outbound, sockets) => {
        await using echo = await echoServer();
        const signal = AbortSignal.abort(over);
        await assert.rejects(outbound.connect(echo.target, { signal }), failure('aborted'));
        assert.equal(echo.accepted(), 0);
        if (!harness.shares) await released(sockets + 1);
      });

      // A protocol without a server resolves the destination itself.
      const isDirect = harness.server === undefined;
      check(
        'a dial may be aborted while a name is resolved',
        async (outbound, sockets) => {
          await using echo = await echoServer();
          const target = isDirect ? { host: SILENT, port: 1 } : echo.target;
          await abortedInTime(outbound, target);
          assert.equal(echo.accepted(), 0);
          await released(sockets + 1);
        },
        isDirect ? {} : { changes: { server: SILENT } },
      );

      if (!harness.awaitsServer) return;
      test('a dial may be aborted while the server is silent', async () => {
        const sockets = openSockets();
        await using silent = await silentServer();
        const outbound = await build({ host: '127.0.0.1', port: silent.port });
        try {
          await abortedInTime(outbound, { host: '127.0.0.1', port: 1 }, () => silent.reached);
          if (!harness.shares) await released(sockets + 2);
        } finally {
          outbound.close();
        }
        await released(sockets + 2);
      });
    }

    function carriesPackets(): void {
      const options = { silent: harness.endsBySilence };
      check(
        'an association reaches any peer, which responds as itself',
        async (outbound) => {
          await using first = await udpEcho();
          await using second = await udpEcho();
          const link = await outbound.associate(patient);
          for (const size of [1, 500, 1400]) {
            for (const peer of [first, second]) await echoed(link, peer, Buffer.alloc(size, size));
          }
          const pending = link.receive();
          link.close();
          assert.equal(await pending, undefined);
          assert.equal(await link.closed, undefined);
        },
        options,
      );

      check(
        'associations are independent of each other',
        async (outbound) => {
          await using echo = await udpEcho();
          const links = [await outbound.associate(patient), await outbound.associate(patient)];
          const [doomed, other] = links as [PacketLink, PacketLink];
          await echoed(doomed, echo, Buffer.from('first'));
          await echoed(other, echo, Buffer.from('second'));
          doomed.close(over);
          assert.equal(await doomed.closed, over);
          await echoed(other, echo, Buffer.from('third'));
          other.close();
        },
        options,
      );

      check(
        'closing under a live association leaves nothing once it has ended',
        async (outbound) => {
          await using echo = await udpEcho();
          const link = await outbound.associate(patient);
          await echoed(link, echo, Buffer.from('hello'));
          outbound.close();
          link.close();
          await link.closed;
        },
        options,
      );

      check('an association whose signal has aborted is not opened', (outbound) =>
        assert.rejects(outbound.associate({ signal: AbortSignal.abort(over) }), failure('aborted')),
      );
    }
  });
}

/** A dial is rejected with the reason of its signal, as soon as that aborts. */
async function abortedInTime(
  outbound: Outbound,
  target: Endpoint,
  reached: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  for (const [reason, code] of [
    [over, 'aborted'],
    [new DeadlineError('the dial took too long'), 'timed_out'],
    [new DialError('blocked', 'killed'), 'blocked'],
  ] as const) {
    const abort = new AbortController();
    const dialled = outbound.connect(target, { signal: abort.signal });
    const rejected = assert.rejects(dialled, failure(code));
    await within(reached(), 'the server to be reached');
    abort.abort(reason);
    await within(rejected, 'the end of the dial');
  }
}

const failure =
  (code: DialErrorCode) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof DialError, String(error));
    assert.equal(error.code, code, error.message);
    return true;
  };

/** Waits until no more sockets are open than there were. */
const released = (sockets: number): Promise<boolean> =>
  eventually(
    () => `${openSockets()} sockets are open, ${sockets} were`,
    () => openSockets() <= sockets,
  );

/** Writes a body and the end of the stream. */
async function send(link: ByteLink, size: number): Promise<void> {
  for (const chunk of pattern(size)) await link.write(chunk);
  await link.closeWrite();
}

async function echoed(link: PacketLink, peer: Origin, data: Buffer): Promise<void> {
  link.send({ data, peer: peer.target });
  const packet = await within(link.receive(), 'an echoed datagram');
  assert.deepEqual(Buffer.from(packet?.data ?? []), data);
  assert.deepEqual([packet?.peer.host, packet?.peer.port], [peer.host, peer.port]);
}

/** Accepts connections, and receives datagrams at the same port, and never responds. */
async function silentServer(): Promise<
  AsyncDisposable & { readonly port: number; readonly reached: Promise<void> }
> {
  const reached = Promise.withResolvers<void>();
  const tcp = await tcpServer((socket) => {
    socket.resume().on('end', () => socket.end());
    reached.resolve();
  });
  const udp = createSocket('udp4').on('message', () => reached.resolve());
  udp.bind(tcp.port, '127.0.0.1');
  await once(udp, 'listening');
  return {
    port: tcp.port,
    reached: reached.promise,
    async [Symbol.asyncDispose]() {
      udp.close();
      await tcp[Symbol.asyncDispose]();
    },
  };
}
