import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { FLOWS_RESUMED_A_TURN } from '../../../../../io/src/net/time/turns.ts';
import { setImmediate as turn } from 'node:timers/promises';
import { X25519PrivateKey } from '@weir/crypto/x25519';
import { silentLogger } from '@weir/base/log';
import { systemClock, type Clock, DIAL_MS } from '@weir/io/time';
import { DialError } from '@weir/io';
import { KeptObjects } from '@weir/base/collections';
import { OwnListeners } from '@weir/io/net/own-listeners';
import type { ByteLink } from '@weir/io/links';
import type { FamilyPolicy } from '@weir/io/addresses';
import { Netstack } from '@weir/netstack';
import type { OutboundContext } from '../../../../src/protocols/contract.ts';
import { TunnelDevice } from '../../../../src/protocols/wireguard/tunnel-device.ts';
import { REKEY_TIMEOUT } from '../../../../src/protocols/wireguard/deadlines.ts';
import {
  INITIATION_INTERVAL,
  LEAST_SILENCE,
  RETRY_DELAY,
  SILENCE_LIMIT,
} from '../../../../src/protocols/wireguard/limits.ts';
import { createStaticKeys } from '../../../../src/protocols/wireguard/handshake/noise.ts';
import { WireGuardOutbound } from '../../../../src/protocols/wireguard/outbound.ts';
import type { WireGuardSettings } from '../../../../src/protocols/wireguard/settings.ts';
import { SharedTunnels } from '../../../../src/protocols/wireguard/shared-tunnels.ts';
import { timestampAfter } from '../../../../src/protocols/wireguard/wire.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { SeededRandom } from '../../../../../../test/support/simnet/seeded-random.ts';
import { eventually } from '../../../../../../test/support/wait.ts';
import { FakeUdp } from '../../../../../../test/support/protocols/wireguard/fake-udp.ts';
import { isSameEndpoint } from '@weir/base/ip';
import { endpoint } from '../../../../../../test/support/protocols/wireguard/tunnel-pair.ts';

const OWN = new Uint8Array(32).fill(1);
const PEER = new Uint8Array(32).fill(2);
const publicOf = (key: Uint8Array): Uint8Array => new X25519PrivateKey(key).publicKey;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const SETTINGS: WireGuardSettings = {
  privateKey: hex(OWN),
  peerPublicKey: hex(publicOf(PEER)),
  presharedKey: undefined,
  endpoint: { host: '127.0.0.1', port: 1000 },
  addresses: ['10.88.0.2', 'fd88::2'],
  mtu: 1420,
  keepalive: 0,
  reserved: undefined,
};

const ECHO = { host: '192.0.2.7', port: 7 };
const signal = new AbortController().signal;

/** A world of one host: a peer at port 1000 that stands for every destination, and outbounds. */
class World {
  readonly net = new FakeUdp();
  readonly names: string[] = [];
  readonly asked: (readonly [string, FamilyPolicy])[] = [];
  readonly tunnels: SharedTunnels;
  readonly random = new SeededRandom(1);
  /** That of `peer.test`. */
  address = '127.0.0.1';
  readonly lines: string[] = [];
  /** Names of destinations resolve after it. */
  resolvable = Promise.resolve();
  /** What the peer does with a connection. */
  serve = async (link: ByteLink): Promise<void> => {
    for (;;) {
      const chunk = await link.read();
      if (chunk === undefined) return link.closeWrite();
      await link.write(chunk);
    }
  };
  readonly #stopped = new AbortController();
  readonly #clock: Clock;
  readonly #outbounds: WireGuardOutbound[] = [];
  #peer: Netstack | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.tunnels = new SharedTunnels({
      bind: this.net.bind,
      resolve: (name) => {
        this.names.push(name);
        return name === 'peer.test'
          ? Promise.resolve(this.address)
          : Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));
      },
      random: this.random,
    });
  }

  /** Starts the peer, which echoes TCP and UDP. */
  async startPeer(): Promise<void> {
    const staticKeys = createStaticKeys(PEER, publicOf(OWN));
    assert.ok(staticKeys);
    const device = await TunnelDevice.open({
      name: 'peer',
      staticKeys,
      endpoint: endpoint('127.0.0.1', 9),
      settings: { mtu: 1420, keepalive: 0, reserved: undefined },
      clock: this.#clock,
      random: this.random,
      bind: this.net.bind,
      timestamp: () => timestampAfter(undefined, this.#clock.wall()),
    });
    this.#peer = new Netstack({
      device,
      clock: this.#clock,
      random: this.random,
      addresses: 'any',
      isPaced: false,
      settings: { maxFlows: 1000, udp: true, udpIdle: 60_000 },
      handlers: {
        onConnection: (request) => {
          void request
            .accept()
            .then((link) => this.serve(link))
            .catch(() => undefined);
        },
        onAssociation: ({ link }) => {
          void (async () => {
            for (let packet = await link.receive(); packet; packet = await link.receive()) {
              link.send(packet);
            }
          })();
        },
      },
    });
  }

  /** Ends the peer and starts it again at its port, where it knows nothing of what was before. */
  async restartPeer(): Promise<void> {
    this.#peer?.close();
    const { nextPort } = this.net;
    this.net.nextPort = SETTINGS.endpoint.port;
    await this.startPeer();
    this.net.nextPort = nextPort;
    // What the old one has sent at its end arrives.
    await turn();
  }

  outbound(changes: Partial<WireGuardSettings> = {}, family: FamilyPolicy = 'auto') {
    const context: OutboundContext = {
      tag: 'wg',
      family,
      resolver: {
        resolve: async (host, policy) => {
          this.asked.push([host, policy]);
          await this.resolvable;
          return [host.endsWith('.test') ? ECHO.host : host];
        },
      },
      clock: this.#clock,
      log: {
        ...silentLogger,
        info: (line) => void this.lines.push(String(line)),
      },
      ownListeners: new OwnListeners(),
      shared: new KeptObjects(),
      stopped: this.#stopped.signal,
      server: undefined,
      dial: () => Promise.reject(new Error('nothing is dialled')),
    };
    const outbound = new WireGuardOutbound({ ...SETTINGS, ...changes }, context, this.tunnels);
    this.#outbounds.push(outbound);
    return outbound;
  }

  /** The proxy stops. */
  stop(): void {
    this.#stopped.abort();
  }

  close(): void {
    this.stop();
    for (const outbound of this.#outbounds) outbound.close();
    this.#peer?.close();
  }
}

/** Lets time pass, a millisecond for each turn of the event loop, until a promise is settled. */
async function passing<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settle = (): void => {
    isSettled = true;
  };
  promise.then(settle, settle);
  while (!isSettled) {
    await turn();
    clock.advance(1);
  }
  return promise;
}

const worlds: World[] = [];
function world(clock?: Clock): World {
  const made = new World(clock);
  worlds.push(made);
  return made;
}
afterEach(() => {
  for (const made of worlds.splice(0)) made.close();
});

async function says(outbound: WireGuardOutbound, text: string, host = ECHO.host): Promise<void> {
  const link = await outbound.connect({ host, port: ECHO.port }, { signal });
  await link.write(Buffer.from(text));
  const chunk = await link.read();
  assert.equal(Buffer.from(chunk ?? []).toString(), text);
  await link.closeWrite();
  assert.equal(await link.read(), undefined);
}

const fails = (code: string, message: string) => (error: unknown) => {
  assert.ok(error instanceof DialError, String(error));
  assert.equal(error.message, message);
  assert.equal(error.code, code);
  return true;
};

describe('a WireGuard outbound', () => {
  test('carries connections of both families, and names by the resolver', async () => {
    const made = world();
    await made.startPeer();
    const outbound = made.outbound();
    await says(outbound, 'one');
    await says(outbound, 'two', '2001:db8::7');
    await says(outbound, 'three', 'echo.test');
    assert.equal(made.net.sockets.length, 2, 'one socket for all');
    assert.deepEqual(made.asked.at(-1), ['echo.test', 'auto']);
  });

  test('carries datagrams to any peer from one port, to names as well', async () => {
    const made = world();
    await made.startPeer();
    const link = await made.outbound().associate({ signal });
    for (const host of ['192.0.2.7', '2001:db8::7', 'echo.test']) {
      const data = Buffer.from(`to ${host}`);
      link.send({ data, peer: { host, port: 7 } });
      const packet = await link.receive();
      assert.equal(Buffer.from(packet?.data ?? []).toString(), `to ${host}`);
      const from = host === 'echo.test' ? ECHO.host : host;
      assert.deepEqual(packet?.peer, { host: from, port: 7 });
    }
    link.close();
  });

  test('resolves names to the families of its addresses', async () => {
    const made = world();
    await made.startPeer();
    const only = ['10.88.0.2'];
    await says(made.outbound({ addresses: only }), 'one', 'echo.test');
    await says(made.outbound({ addresses: only }, 'prefer_ipv6'), 'two', 'echo.test');
    assert.deepEqual(
      made.asked.map(([, policy]) => policy),
      ['ipv4_only', 'ipv4_only'],
    );
    await assert.rejects(
      made
        .outbound({ addresses: only }, 'ipv6_only')
        .connect({ host: 'echo.test', port: 7 }, { signal }),
      fails('unreachable_network', 'echo.test:7: the tunnel has no address of its family'),
    );
    await assert.rejects(
      made.outbound({ addresses: only }).connect({ host: '2001:db8::7', port: 7 }, { signal }),
      fails('unreachable_network', '[2001:db8::7]:7: the tunnel has no IPv6 address'),
    );
  });

  test('reaches an address of a family that its policy excludes for names', async () => {
    const made = world();
    await made.startPeer();
    const outbound = made.outbound({}, 'ipv6_only');
    await says(outbound, 'one', ECHO.host);
    const link = await outbound.associate({ signal });
    link.send({ data: Buffer.from('two'), peer: ECHO });
    assert.equal(Buffer.from((await link.receive())?.data ?? []).toString(), 'two');
    link.close();
  });

  test('fails without addresses, without starting anything', async () => {
    const made = world();
    const outbound = made.outbound({ addresses: [] });
    const message = 'wireguard: no tunnel-local addresses configured';
    await assert.rejects(outbound.connect(ECHO, { signal }), fails('failed', message));
    await assert.rejects(outbound.associate({ signal }), fails('failed', message));
    assert.equal(made.net.sockets.length, 0);
  });

  test('resolves the endpoint when the tunnel starts, and not again', async () => {
    const made = world();
    await made.startPeer();
    const outbound = made.outbound({ endpoint: { host: 'peer.test', port: 1000 } });
    assert.deepEqual(made.names, []);
    await says(outbound, 'one');
    await says(outbound, 'two');
    assert.deepEqual(made.names, ['peer.test']);
  });

  test('whose endpoint is not found fails the dials that wait for it in turns', async () => {
    const made = world();
    const outbound = made.outbound({ endpoint: { host: 'nowhere.test', port: 1000 } });
    const COUNT = 4 * FLOWS_RESUMED_A_TURN;
    let failed = 0;
    for (let dial = 0; dial < COUNT; dial++) {
      outbound.connect(ECHO, { signal }).catch(() => failed++);
    }
    let turns = 0;
    for (; failed < COUNT; turns += Number(failed > 0)) await new Promise(setImmediate);
    assert.ok(turns >= COUNT / FLOWS_RESUMED_A_TURN - 2, `${turns} turns`);
    assert.deepEqual(made.names, ['nowhere.test']);
  });

  describe('whose peer has a name', () => {
    const NAMED = { endpoint: { host: 'peer.test', port: 1000 } };

    /** An outbound with a session, whose clock stands. */
    const started = async () => {
      const clock = new ManualClock();
      const made = world(clock);
      await made.startPeer();
      const outbound = made.outbound(NAMED);
      const link = await passing(clock, outbound.connect(ECHO, { signal }));
      await link.write(Buffer.from('one'));
      await passing(clock, link.read());
      return { clock, made, outbound, link };
    };

    /** Time passes, in steps in which timers and datagrams take their turns. */
    const pass = async (clock: ManualClock, milliseconds: number): Promise<void> => {
      for (let passed = 0; passed < milliseconds; passed += 100) {
        clock.advance(100);
        await turn();
      }
    };

    test('resolves it again when initiations have no response, and flows continue', async () => {
      const { clock, made, link } = await started();
      const [peer] = made.net.sockets;
      assert.ok(peer);
      peer.local = endpoint('127.0.0.2', 1000);
      made.address = '127.0.0.2';
      // A NAT before this side lets nothing in but what it has asked for.
      let isAsked = false;
      made.net.passes = (_, from, to) => {
        isAsked ||= isSameEndpoint(to, peer.local);
        return isAsked || !isSameEndpoint(from, peer.local);
      };
      await link.write(Buffer.from('two'));
      const answer = link.read();
      await pass(clock, 12_000);
      assert.deepEqual(made.names, ['peer.test']);
      assert.equal(String(await passing(clock, answer)), 'two');
      assert.deepEqual(made.names, ['peer.test', 'peer.test']);
      const moved = made.lines.filter((line) => line.includes('is at'));
      assert.deepEqual(moved, [
        'outbound wg: the WireGuard peer peer.test:1000 is at 127.0.0.2:1000 now',
      ]);
      assert.equal(made.net.sockets.length, 2);
    });

    test('resolves it at most every 30 seconds while the peer is down', async () => {
      const { clock, made, link } = await started();
      made.net.passes = () => false;
      await link.write(Buffer.from('two'));
      await pass(clock, 100_000);
      const times = made.names.length;
      assert.ok(times >= 3 && times <= 5, `${times} times`);
      assert.ok(made.lines.every((line) => !line.includes('is at')));
    });

    test('does not resolve it while the peer responds', async () => {
      const { clock, made, link } = await started();
      for (let second = 0; second < 200; second += 20) {
        await link.write(Buffer.from('more'));
        await passing(clock, link.read());
        await pass(clock, 20_000);
      }
      assert.deepEqual(made.names, ['peer.test']);
    });
  });

  test('does not resolve an address again', async () => {
    const clock = new ManualClock();
    const made = world(clock);
    const outbound = made.outbound();
    await assert.rejects(passing(clock, outbound.connect(ECHO, { signal })));
    for (let passed = 0; passed < 60_000; passed += 1000) {
      clock.advance(1000);
      await turn();
    }
    assert.deepEqual(made.names, []);
  });

  test('tries an endpoint without an address again with the next flow', async () => {
    const made = world();
    const outbound = made.outbound({ endpoint: { host: '[::1]', port: 1000 } });
    for (const _ of [1, 2]) {
      await assert.rejects(outbound.connect(ECHO, { signal }), (error: unknown) => {
        assert.ok(error instanceof DialError);
        return error.code === 'not_found';
      });
    }
    assert.deepEqual(made.names, ['[::1]', '[::1]']);
  });

  test('names a silent peer, and uses it as soon as it is there', async () => {
    const clock = new ManualClock();
    const made = world(clock);
    const outbound = made.outbound();
    const dial = outbound.connect(ECHO, { signal });
    const failed = assert.rejects(
      dial,
      fails(
        'timed_out',
        '127.0.0.1:1000: the WireGuard peer does not respond; private_key or peer_public_key may not be those that the peer expects, or it has a preshared key, which is not set here, or the clock of this machine is behind that of an earlier handshake',
      ),
    );
    await eventually('the socket', () => made.net.sockets.length === 1);
    await eventually('an initiation', () => (made.net.sockets[0]?.sent.length ?? 0) > 0);
    clock.advance(SILENCE_LIMIT);
    await failed;
  });

  describe('whose destination takes long to resolve', () => {
    const NAME = { host: 'echo.test', port: ECHO.port };

    /** A dial that resolves its name after `milliseconds`; before it, the tunnel was used and became idle. */
    async function dialled(milliseconds: number, isSilent: boolean) {
      const clock = new ManualClock();
      const made = world(clock);
      await made.startPeer();
      const outbound = made.outbound();
      await passing(clock, says(outbound, 'before'));
      // The end of that connection, and the keep-alives after it.
      for (let seconds = 0; seconds < 30; seconds++) {
        await turn();
        clock.advance(1000);
      }
      if (isSilent) made.net.passes = () => false;
      const { promise, resolve } = Promise.withResolvers<void>();
      made.resolvable = promise;
      const begun = clock.now();
      const dial = outbound.connect(NAME, { signal });
      dial.catch(() => undefined);
      await eventually('the question', () => made.asked.at(-1)?.[0] === NAME.host);
      clock.advance(milliseconds);
      resolve();
      return { dial: passing(clock, dial), passed: () => clock.now() - begun };
    }

    test('does not blame the peer, to which nothing was sent', async () => {
      const { dial } = await dialled(SILENCE_LIMIT, false);
      const link = await dial;
      link.destroy();
    });

    test('names a peer that was silent since then', async () => {
      const { dial, passed } = await dialled(SILENCE_LIMIT - LEAST_SILENCE, true);
      const message = '127.0.0.1:1000: the WireGuard peer does not respond';
      await assert.rejects(dial, fails('timed_out', message));
      assert.ok(passed() >= SILENCE_LIMIT && passed() < DIAL_MS, `${passed()} ms`);
    });

    test('does not blame a peer that had no time to respond', async () => {
      const { dial } = await dialled(SILENCE_LIMIT - LEAST_SILENCE + 1, true);
      const message = 'echo.test:7: the connection took longer than 10 s';
      await assert.rejects(dial, fails('timed_out', message));
    });
  });

  test('goes on with a dial as soon as a peer that was restarted is found', async () => {
    const clock = new ManualClock();
    const made = world(clock);
    await made.startPeer();
    const outbound = made.outbound();
    await passing(clock, says(outbound, 'before'));
    clock.advance(REKEY_TIMEOUT);
    await made.restartPeer();
    clock.advance(1);
    const begun = clock.now();
    await passing(clock, outbound.connect(ECHO, { signal }));
    const took = clock.now() - begun;
    assert.ok(
      took >= RETRY_DELAY && took < RETRY_DELAY + 100,
      `${took} ms, and the next SYN after 3000`,
    );
  });

  test('finds a peer that was restarted for datagrams as well', async () => {
    const clock = new ManualClock();
    const made = world(clock);
    await made.startPeer();
    const outbound = made.outbound();
    await passing(clock, says(outbound, 'before'));
    clock.advance(REKEY_TIMEOUT);
    await made.restartPeer();
    clock.advance(1);
    const link = await outbound.associate({ signal });
    const begun = clock.now();
    const answer = link.receive();
    // As clients of UDP do: it sends its question again.
    const ask = (): void => link.send({ data: Buffer.from('text'), peer: ECHO });
    const timers = Array.from({ length: 10 }, (_, i) => clock.after(i * 1000, ask));
    assert.equal(Buffer.from((await passing(clock, answer))?.data ?? []).toString(), 'text');
    const took = clock.now() - begun;
    assert.ok(took < RETRY_DELAY + 1100, `${took} ms`);
    for (const timer of timers) timer.cancel();
    link.close();
  });

  test('does not start a tunnel after it was closed', async () => {
    const made = world();
    const outbound = made.outbound();
    outbound.close();
    await assert.rejects(outbound.connect(ECHO, { signal }), { code: 'aborted' });
    assert.equal(made.net.sockets.length, 0);
  });
});

describe('two versions of an outbound', () => {
  test('share the tunnel, which ends with the last of them', async () => {
    const made = world();
    await made.startPeer();
    const [older, newer] = [made.outbound(), made.outbound({ mtu: 1300, keepalive: 10 })];
    const link = await older.connect(ECHO, { signal });
    await says(newer, 'newer');
    assert.equal(made.net.sockets.length, 2);
    await link.write(Buffer.from('older'));
    assert.equal(Buffer.from((await link.read()) ?? []).toString(), 'older');
    older.close();
    await says(newer, 'still');
    newer.close();
    await turn();
    assert.equal(made.net.sockets[1]?.isClosed, true);
  });

  test('with other addresses do not: the newer one takes over, and the older one fails', async () => {
    let passed = 0;
    const made = world({ ...systemClock, now: () => systemClock.now() + passed });
    await made.startPeer();
    const older = made.outbound();
    const newer = made.outbound({ addresses: ['10.88.0.3'] });
    const link = await older.connect(ECHO, { signal });
    // A peer drops an initiation that follows another one at once.
    passed += INITIATION_INTERVAL;
    await says(newer, 'newer');
    await assert.rejects(link.read(), /a newer version has taken over the keys/);
    await assert.rejects(
      older.connect(ECHO, { signal }),
      fails('failed', 'wireguard: a newer version of wg uses the keys with other settings'),
    );
    newer.close();
    passed += INITIATION_INTERVAL;
    await says(older, 'again');
  });
});

describe('a tunnel without an outbound', () => {
  const TAIL = Buffer.alloc(1024 * 1024, 'tail');

  /** An outbound that is closed when its only flow has ended, and a peer that has not read anything then. */
  async function closedBehind(made: World) {
    const mayRead = Promise.withResolvers<void>();
    const received = Promise.withResolvers<number>();
    made.serve = async (link) => {
      await link.closeWrite();
      await mayRead.promise;
      let bytes = 0;
      try {
        for (let chunk = await link.read(); chunk; chunk = await link.read()) bytes += chunk.length;
        received.resolve(bytes);
      } catch (error) {
        received.reject(error);
      }
    };
    received.promise.catch(() => undefined);
    await made.startPeer();
    const outbound = made.outbound();
    const link = await outbound.connect(ECHO, { signal });
    assert.equal(await link.read(), undefined);
    void link.write(TAIL)?.catch(() => undefined);
    await link.closeWrite();
    assert.equal(await link.closed, undefined);
    outbound.close();
    return { outbound, mayRead, received: received.promise, socket: made.net.sockets[1] };
  }

  test('delivers what its last flow has written, and then ends', async () => {
    const made = world();
    const { mayRead, received, socket } = await closedBehind(made);
    mayRead.resolve();
    assert.equal(await received, TAIL.length);
    await eventually('the end of the tunnel', () => socket?.isClosed === true);
  });

  test('gives it up when the proxy stops', async () => {
    const made = world();
    const { mayRead, received, socket } = await closedBehind(made);
    made.stop();
    assert.equal(socket?.isClosed, true);
    await turn();
    mayRead.resolve();
    await assert.rejects(received);
  });

  test('is used by the next outbound with its keys, and does not end then', async () => {
    const made = world();
    const { mayRead, received, socket } = await closedBehind(made);
    const next = made.outbound();
    const { serve } = new World();
    made.serve = serve;
    await says(next, 'next');
    mayRead.resolve();
    assert.equal(await received, TAIL.length);
    await says(next, 'still');
    assert.equal(made.net.sockets.length, 2);
    next.close();
    await eventually('the end of the tunnel', () => socket?.isClosed === true);
  });

  test('ends at once when a newer outbound takes its keys over', async () => {
    const made = world();
    const { mayRead, received, socket } = await closedBehind(made);
    const newer = made.outbound({ addresses: ['10.88.0.3'] });
    const dial = newer.connect(ECHO, { signal: AbortSignal.abort(new Error('no')) });
    await assert.rejects(dial);
    assert.equal(socket?.isClosed, true);
    await turn();
    mayRead.resolve();
    await assert.rejects(received);
  });
});
