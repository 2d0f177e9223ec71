import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { asError, codeOf, WeirError } from '../../src/errors.ts';
import { DialError, type DialErrorCode } from '../../src/net/errors.ts';
import { linkPair } from '../../src/net/links/memory-link.ts';
import type { ByteLink, Carrier, PacketLink } from '../../src/net/links/link.ts';
import { SocketLink } from '../../src/net/sockets/node/socket-link.ts';
import { HANDSHAKE_MS } from '../../src/net/time/time-limits.ts';
import type { Endpoint } from '../../src/net/addresses/address.ts';
import type { InboundContext, InboundHandler } from '../../src/protocols/contract.ts';
import { InboundMemory } from '../../src/protocols/inbounds/inbound-memory.ts';
import { accountsOf } from '../../src/protocols/users/standing.ts';
import type { Session } from '../../src/tracker/session.ts';
import { chunksOf, cuts, nearly } from '../support/data/chunks.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { uncollected } from '../support/process/uncollected.ts';
import { inboundContext } from '../support/protocols/inbound-context.ts';
import type { Target } from '../support/protocols/inbounds/address.ts';
import { FakeEngine, settle, Watched } from '../support/protocols/inbounds/engine.ts';

/** Ann and Bob have accounts, Eve has none. */
export type User = 'ann' | 'bob' | 'eve';

/** The client's side of one stream, as the documents of the protocol have it. */
export interface InboundClient {
  /** The request, and in the same segment the first payload, which may be empty. */
  first(payload: Uint8Array): Uint8Array;
  more(payload: Uint8Array): Uint8Array;
  /** What precedes the end of the stream, where the protocol has such a thing. */
  readonly end?: (() => Uint8Array) | undefined;
  /** Everything that the server has sent, opened. Throws where that is not as the protocol has it. */
  open(received: Buffer): Opened;
}

export interface Opened {
  readonly payload: Uint8Array;
  /** Whether the payload has ended within what was received. */
  readonly ended?: boolean;
  /** The payload as datagrams. */
  readonly datagrams?: readonly { readonly data: Uint8Array; readonly peer?: Endpoint }[];
}

/** What a client observes of its end. */
export interface Ending {
  readonly how: 'end' | 'closed' | 'reset';
  /** Milliseconds that the client stays without sending more. */
  readonly after: number;
  /** What it receives before; nothing where left out, and not looked at where that is `undefined`. */
  readonly says?: Uint8Array | RegExp | undefined;
}

/** The connection ends at the time limit, as for a client that sends nothing. */
export const SILENCE: Ending = { how: 'end', after: HANDSHAKE_MS };

export interface Rejection {
  readonly name: string;
  readonly sends: Uint8Array;
  /** Of the message of the error that the connection ends with. */
  readonly error: RegExp;
  /** `rejected` of the harness where left out. */
  readonly ending?: Ending;
}

export interface DatagramHarness {
  /** Whether an association reaches any peer, or the one of its request alone. */
  readonly peers: 'any' | 'one';
  client(user: User, peer: Endpoint, seed: string): DatagramClient;
  /** What is sent in place of a datagram, and has to be dropped and counted. */
  readonly invalid: readonly Uint8Array[];
  readonly longest: number;
}

export interface DatagramClient extends Pick<InboundClient, 'open' | 'end'> {
  first(data: Uint8Array): Uint8Array;
  more(data: Uint8Array, peer: Endpoint): Uint8Array;
}

/** One protocol on accepted carriers: what its clients send, and what they may expect. */
export interface InboundHarness {
  create(users: readonly User[], context: InboundContext): InboundHandler;
  /** The label of a user's flows; left out where clients have no accounts. */
  readonly label?: (user: User) => string | undefined;
  /** Whether it serves every client when it is given no users. */
  readonly isOpenWithoutUsers?: boolean;
  /**
   * @param seed of what is random, so that no two clients send the same.
   * @returns `undefined` where the protocol cannot name that destination.
   */
  client(user: User, destination: Target, seed: string): InboundClient | undefined;
  /** The end of a client that is rejected. */
  readonly rejected: Ending;
  /** The end of a client that has sent that many bytes of its request; as that of a rejected one where left out. */
  readonly stopped?: (sent: number) => Ending;
  /** The end of one whose destination has an invalid name; as `rejected` where left out. */
  readonly invalidName?: Ending;
  /** What else is rejected. */
  readonly rejections: readonly Rejection[];
  /** What a client receives when its destination is not reached, before its end; left out where it is reset. */
  readonly refusal?: (code: DialErrorCode) => Uint8Array | RegExp;
  /** Whether the connection stays for another request then. */
  readonly staysAfterRefusal?: boolean;
  /** Bytes that the first segment has to have. */
  readonly atOnce?: number;
  /** Whether all that the client sends is authenticated, and none of it accepted twice. */
  readonly sealed?: boolean;
  /** Runs of the property of any bytes; 40 where left out. */
  readonly runs?: number;
  /** Whether there is padding among that which is not authenticated. */
  readonly padded?: boolean;
  /** Bytes of a request by which its sender is authenticated, where it begins with them. */
  readonly secret?: number;
  readonly datagrams?: DatagramHarness;
}

const SITE: Endpoint = { host: 'www.example', port: 80 };
const PEER: Endpoint = { host: '192.0.2.7', port: 53 };
const USERS: readonly User[] = ['ann', 'bob'];
/** Within it everything is over whose client neither sends nor closes. */
const PATIENCE_MS = 60_000;

const DESTINATIONS: readonly Endpoint[] = [
  { host: '192.0.2.7', port: 443 },
  { host: '2001:db8::7', port: 65_535 },
  { host: 'www.example', port: 0 },
  { host: 'a'.repeat(255), port: 1 },
  { host: 'b\u00fccher.example', port: 80 },
];

/** Names as they are sent, and the host that they stand for; `undefined` for those that are rejected. */
const NAMES: readonly (readonly [string, string | undefined])[] = [
  ['192.0.2.7', '192.0.2.7'],
  ['2001:DB8::0:7', '2001:db8::7'],
  ['[::1]', '::1'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['', undefined],
  ['a b', undefined],
  ['a\0b', undefined],
  ['a\r\nb', undefined],
  ['a\xff\xfe', undefined],
];

const CODES =
  'refused unreachable_host unreachable_network not_found unresolved timed_out blocked loop forbidden unsupported upstream aborted failed'.split(
    ' ',
  ) as DialErrorCode[];

const text = (payload: string): Buffer => Buffer.from(payload);
const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** A client's connection, and how serving it ended. */
export class Connection extends Watched {
  readonly served: Promise<void>;
  isServed = false;
  error: Error | undefined;

  constructor(link: ByteLink, serving: Promise<void>) {
    super(link);
    this.served = serving
      .catch((error: unknown) => {
        this.error = asError(error);
      })
      .finally(() => {
        this.isServed = true;
      });
  }
}

/** One inbound in an engine that is the test's. */
export class Rig {
  readonly clock = new ManualClock();
  readonly engine = new FakeEngine(this.clock);
  readonly memory = new InboundMemory();
  readonly #harness: InboundHarness;
  readonly handler: InboundHandler;

  constructor(harness: InboundHarness, users = USERS, changes: Partial<InboundContext> = {}) {
    this.#harness = harness;
    this.handler = this.reloaded(users, changes);
  }

  /** The handler of a later configuration. */
  reloaded(users: readonly User[], changes: Partial<InboundContext> = {}): InboundHandler {
    const context = { memory: this.memory, ...changes };
    const engine = { dispatcher: this.engine, clock: this.clock };
    return this.#harness.create(users, inboundContext('in', engine, context));
  }

  connect(handler = this.handler, ends = OVER_TCP): Connection {
    const [client, link] = linkPair();
    return new Connection(client, this.serve(link, handler, ends));
  }

  /** Serves a link, and ends it when the handler is through, as the engine does. */
  async serve(link: ByteLink, handler = this.handler, ends: Ends = OVER_TCP): Promise<void> {
    try {
      await handler.serve({ link, wire: NO_WIRE, ...ends }, SESSION);
    } finally {
      link.destroy();
    }
  }

  /** Everything that was served is over and has left nothing. */
  async isClean(...connections: readonly Connection[]): Promise<void> {
    await settle();
    for (const connection of connections) assert.ok(connection.isServed, 'served to its end');
    assert.equal(this.engine.live, 0);
    assert.equal(this.clock.timers, 0, 'no timer is left');
  }
}

const NO_WIRE = { bytesRead: 0, bytesWritten: 0 };
type Ends = Pick<Carrier, 'remote' | 'local'>;
const OVER_TCP: Ends = {
  remote: { host: '::ffff:192.0.2.9', port: 50_000 },
  local: { host: '::ffff:192.0.2.1', port: 443 },
};
const OVER_UNIX: Ends = { remote: undefined, local: undefined };
const SESSION: Session = {
  id: 1,
  inbound: 'in',
  source: '192.0.2.9',
  user: undefined,
  startedAt: 0,
  attach: () => undefined,
};

/**
 * The promises of an `InboundHandler` to clients of its protocol and to the engine.
 *
 * @param only that of payload, for one of many ways in which a protocol seals it.
 */
export function inboundConformance(name: string, harness: InboundHarness, only?: 'payload'): void {
  const { rejected, label, sealed = false } = harness;
  const stopped = harness.stopped ?? (() => rejected);
  let seeds = 0;

  const clientFor = (user: User = 'ann', destination: Target = SITE): InboundClient => {
    const client = harness.client(user, destination, `${name} ${seeds++}`);
    assert.ok(client);
    return client;
  };
  const opened = (client: Pick<InboundClient, 'open'>, { received }: Watched): string =>
    latin1(client.open(received).payload);
  const hasEnded = (client: InboundClient, { received, state }: Watched): boolean =>
    state === 'end' || client.open(received).ended === true;

  /** Sends a request with payload, and has the flow. */
  async function flow(
    rig: Rig,
    payload = 'hello',
    client = clientFor(),
  ): Promise<{ client: InboundClient; connection: Connection; origin: Watched }> {
    const connection = rig.connect();
    connection.write(client.first(text(payload)));
    await settle();
    const origin = rig.engine.origins.at(-1);
    assert.ok(origin, `no flow: ${connection.error?.message}`);
    return { client, connection, origin };
  }

  const endOf = async (client: InboundClient, connection: Watched): Promise<void> => {
    if (client.end) connection.write(client.end());
    connection.closeWrite();
    await settle();
  };

  /** That the clients, which stay and send nothing more, see that end at that time and nothing is left. */
  async function observed(
    rig: Rig,
    watched: readonly (readonly [Connection, Ending, string])[],
  ): Promise<void> {
    await settle();
    const times = [...new Set(watched.map(([, { after }]) => after))].toSorted((a, b) => a - b);
    let now = 0;
    const goTo = async (time: number): Promise<void> => {
      if (time > now) rig.clock.advance(time - now);
      now = Math.max(now, time);
      await settle();
    };
    for (const time of times) {
      await goTo(time - 1);
      for (const [{ state, error }, { after }, what] of watched) {
        if (after >= time && time > 0) assert.equal(state, 'open', `${what}: ${error?.message}`);
      }
      await goTo(time);
      for (const [{ state, received }, { how, after, ...rest }, what] of watched) {
        if (after !== time) continue;
        assert.equal(state, how, what);
        const says = 'says' in rest ? rest.says : text('');
        if (says instanceof RegExp) assert.match(latin1(received), says, what);
        else if (says)
          assert.equal(received.toString('hex'), Buffer.from(says).toString('hex'), what);
      }
    }
    // What a time limit begins may have a time limit.
    for (let step = 1; step <= 2; step++) await goTo(now + PATIENCE_MS);
    await rig.isClean(...watched.map(([connection]) => connection));
  }

  describe(name, () => {
    test('carries payload of any size both ways, and half-closes of either side first', async () => {
      const rig = new Rig(harness);
      const { client, connection, origin } = await flow(rig, '');
      const sizes = [1, 0, 100, 16_383, 16_384, 65_535, 65_536, 200_000];
      const up = sizes.map((size, i) => Buffer.alloc(size, i));
      for (const chunk of up) connection.write(client.more(chunk));
      await settle();
      assert.ok(origin.received.equals(Buffer.concat(up)));
      await endOf(client, connection);
      assert.equal(origin.state, 'end');
      for (const chunk of up.toReversed()) origin.write(chunk);
      await settle();
      assert.ok(
        Buffer.from(client.open(connection.received).payload).equals(
          Buffer.concat(up.toReversed()),
        ),
      );
      assert.ok(!hasEnded(client, connection));
      origin.closeWrite();
      await settle();
      assert.ok(hasEnded(client, connection));
      assert.equal(connection.error, undefined);
      await rig.isClean(connection);

      const second = await flow(rig);
      second.origin.write(text('welcome'));
      second.origin.closeWrite();
      await settle();
      assert.equal(opened(second.client, second.connection), 'welcome');
      assert.ok(hasEnded(second.client, second.connection));
      second.connection.write(second.client.more(text(' and the rest')));
      await endOf(second.client, second.connection);
      assert.equal(second.origin.text, 'hello and the rest');
      assert.equal(second.origin.state, 'end');
      await rig.isClean(second.connection);
    });

    if (only) return;

    test('connects a known user, with the first payload, and tells the engine who asks', async () => {
      for (const [source, ends] of [
        ['192.0.2.9', OVER_TCP],
        [undefined, OVER_UNIX],
      ] as const) {
        for (const sniffing of [true, false]) {
          const rig = new Rig(harness, USERS, { sniffing });
          for (const user of USERS) {
            const client = clientFor(user);
            const connection = rig.connect(rig.handler, ends);
            connection.write(client.first(text('hello')));
            await settle();
            const request = rig.engine.streams.at(-1);
            assert.ok(request, String(connection.error));
            assert.equal(rig.engine.origins.at(-1)?.text, 'hello');
            assert.deepEqual(request.destination, SITE);
            assert.equal(request.sniff, sniffing);
            assert.ok(request.origin.standing?.stands);
            assert.deepEqual(request.origin, {
              inbound: 'in',
              source,
              user: label?.(user),
              session: SESSION,
              standing: request.origin.standing,
            });
            connection.link.destroy();
          }
          await settle();
          assert.equal(rig.clock.timers, 0);
        }
      }
    });

    test('carries a stream without payload', async () => {
      const rig = new Rig(harness);
      const { client, connection, origin } = await flow(rig, '');
      await endOf(client, connection);
      origin.closeWrite();
      await settle();
      assert.equal(opened(client, connection), '');
      assert.ok(hasEnded(client, connection));
      assert.equal(origin.text, '');
      await rig.isClean(connection);
    });

    test('passes on what a server says before the client has', async () => {
      const rig = new Rig(harness);
      const { client, connection, origin } = await flow(rig, '');
      origin.write(text('220 '));
      await settle();
      assert.equal(opened(client, connection), '220 ');
      connection.write(client.more(text('EHLO')));
      origin.write(text('ready'));
      await settle();
      assert.equal(origin.text, 'EHLO');
      assert.equal(opened(client, connection), '220 ready');
      connection.link.destroy();
    });

    test('passes a reset on in both directions, and takes neither for an end', async () => {
      const rig = new Rig(harness);
      const gone = new Error('gone');
      const one = await flow(rig);
      one.connection.link.destroy(gone);
      const two = await flow(rig);
      two.origin.link.destroy(gone);
      await settle();
      assert.equal(one.origin.state, 'reset');
      assert.equal(two.connection.state, 'reset');
      await rig.isClean(one.connection, two.connection);
    });

    test('reads a request the same wherever it is split', async () => {
      const rig = new Rig(harness);
      const { atOnce = 1 } = harness;
      const splits: [InboundClient, Connection, Uint8Array][] = [];
      const last = clientFor().first(text('payload 000')).length;
      for (let at = atOnce; at < last; at++) {
        const client = clientFor();
        const whole = client.first(text(`payload ${String(at).padStart(3, '0')}`));
        const connection = rig.connect();
        connection.write(whole.slice(0, at));
        splits.push([client, connection, whole.slice(at)]);
      }
      // Users are searched for one after the other.
      await settle(2 * last);
      for (const [, connection, rest] of splits) connection.write(rest);
      await settle(2 * last);
      const expected = splits.map((_, i) => `payload ${String(atOnce + i).padStart(3, '0')}`);
      assert.deepEqual(rig.engine.origins.map((origin) => origin.text).toSorted(), expected);
      for (const { destination } of rig.engine.streams) assert.deepEqual(destination, SITE);
      for (const origin of rig.engine.origins) origin.write(text(`re: ${origin.text}`));
      await settle();
      for (const [i, [client, connection]] of splits.entries()) {
        assert.equal(opened(client, connection), `re: ${expected[i]}`);
        connection.link.destroy();
      }

      const client = clientFor();
      const whole = client.first(text('byte by byte'));
      const connection = rig.connect();
      connection.write(whole.slice(0, atOnce));
      for (const byte of whole.subarray(atOnce)) {
        connection.write(Uint8Array.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await settle();
      assert.equal(rig.engine.origins.at(-1)?.text, 'byte by byte');
      connection.link.destroy();
    });

    test('ends a client that says nothing, or stops at any byte, in time and without a flow', async () => {
      const rig = new Rig(harness);
      const { length } = clientFor().first(text(''));
      const stops = Array.from({ length }, (_, sent) => {
        const connection = rig.connect();
        // A request of its own, which another has not made a repeated one.
        const request = clientFor().first(text(''));
        if (sent > 0) connection.write(request.slice(0, sent));
        // Requests differ in length where they are padded.
        return [
          connection,
          sent < request.length ? stopped(sent) : undefined,
          `after ${sent}`,
        ] as const;
      });
      const incomplete = stops.flatMap(([connection, ending, what]) =>
        ending ? [[connection, ending, what] as const] : [],
      );
      for (const [connection, ending] of stops) if (!ending) connection.link.destroy();
      await observed(rig, incomplete);
      for (const [{ error }, { says }, what] of incomplete) {
        if (!(says instanceof RegExp)) assert.ok(error instanceof WeirError, what);
      }
      assert.equal(rig.engine.live, 0);
    });

    test('leaves a client that closes in the middle of its request at once', async () => {
      const rig = new Rig(harness);
      const { length } = clientFor().first(text(''));
      for (let sent = 0; sent < length; sent += 7) {
        const connection = rig.connect();
        const request = clientFor().first(text(''));
        if (sent >= request.length) continue;
        connection.write(request.slice(0, sent));
        connection.closeWrite();
        await settle();
        assert.notEqual(connection.state, 'open', `after ${sent}`);
        connection.link.destroy();
      }
      await settle();
      assert.equal(rig.clock.timers, 0);
    });

    test('reaches addresses of every kind, by their canonical form', async () => {
      const rig = new Rig(harness);
      const reached = async (target: Target): Promise<Endpoint | undefined> => {
        const client = harness.client('ann', target, `${name} ${seeds++}`);
        if (!client) return undefined;
        const before = rig.engine.streams.length;
        const connection = rig.connect();
        connection.write(client.first(text('x')));
        await settle();
        const request = rig.engine.streams[before];
        assert.ok(request, `${JSON.stringify(target)}: ${connection.error?.message}`);
        connection.link.destroy();
        return request.destination;
      };
      for (const destination of DESTINATIONS) {
        const seen = await reached(destination);
        if (seen) assert.deepEqual(seen, destination);
      }
      const mapped = await reached({ host: '::ffff:c000:207', port: 80 });
      if (mapped) assert.deepEqual(mapped, { host: '192.0.2.7', port: 80 });
      for (const [name, host] of NAMES) {
        if (host === undefined) continue;
        const seen = await reached({ host: { name: Buffer.from(name, 'latin1') }, port: 80 });
        if (seen) assert.deepEqual(seen, { host, port: 80 });
      }
    });

    test('rejects names that are none', async () => {
      const rig = new Rig(harness);
      const watched: [Connection, Ending, string][] = [];
      for (const [sent, host] of NAMES) {
        const target = { host: { name: Buffer.from(sent, 'latin1') }, port: 80 };
        const client = host === undefined && harness.client('ann', target, `${name} ${seeds++}`);
        if (!client) continue;
        const connection = rig.connect();
        connection.write(client.first(text('')));
        watched.push([connection, harness.invalidName ?? rejected, JSON.stringify(sent)]);
      }
      await observed(rig, watched);
      assert.equal(rig.engine.requests, 0);
    });

    for (const { name: what, sends, error, ending = rejected } of harness.rejections) {
      test(`rejects ${what}`, async () => {
        const rig = new Rig(harness);
        const staying = rig.connect();
        staying.write(sends);
        await observed(rig, [[staying, ending, 'staying']]);
        assert.match(String(staying.error?.message), error);
        const later = new Rig(harness);
        const leaving = later.connect();
        leaving.write(sends);
        leaving.closeWrite();
        await later.isClean(leaving);
        assert.match(String(leaving.error?.message), error);
        assert.equal(rig.engine.requests + later.engine.requests, 0);
      });
    }

    if (label) {
      test('rejects unknown users, and every one where it knows none', async () => {
        const rig = new Rig(harness);
        const unknown = rig.connect();
        unknown.write(clientFor('eve').first(text('let me in')));
        const watched: [Connection, Ending, string][] = [[unknown, rejected, 'unknown']];
        if (harness.isOpenWithoutUsers !== true) {
          const first = rig.connect(rig.reloaded([]));
          first.write(clientFor('ann').first(text('let me in')));
          watched.push([first, rejected, 'no users']);
        }
        await observed(rig, watched);
        assert.equal(rig.engine.requests, 0);
      });

      test('shows a rejected client on a socket the same end as in memory', async () => {
        const rig = new Rig(harness);
        await using pair = await socketPair();
        const link = new SocketLink(pair.accepted);
        const serving = rig.handler.serve({ link, wire: link, ...OVER_TCP }, SESSION);
        void Promise.allSettled([serving]).then(() => link.destroy());
        let how = 'end';
        const ended = once(pair.client.resume(), 'close').catch(() => undefined);
        pair.client.on('error', () => (how = 'reset'));
        const sent = Buffer.concat([clientFor('eve').first(text('')), Buffer.alloc(32_768, 0x55)]);
        pair.client.write(sent);
        let isOver = false;
        void ended.then(() => (isOver = true));
        while (!isOver && pair.accepted.bytesRead < sent.length) await settle();
        await settle();
        rig.clock.advance(rejected.after);
        await ended;
        assert.equal(how, rejected.how === 'reset' ? 'reset' : 'end');
      });

      test('knows of each user whether the account stands', async () => {
        const rig = new Rig(harness);
        for (const user of USERS) await flow(rig, 'x', clientFor(user));
        const next = rig.reloaded(['bob']);
        assert.ok(next.accounts);
        accountsOf(rig.memory).replace(next.accounts);
        const stands = rig.engine.streams.map(({ origin }) => origin.standing?.stands);
        assert.deepEqual(stands, [false, true]);
        const welcome = rig.connect(next);
        welcome.write(clientFor('bob').first(text('x')));
        await settle();
        assert.ok(rig.engine.streams[2]?.origin.standing?.stands);
        for (const origin of rig.engine.origins) origin.link.destroy(new Error('over'));
        const late = rig.connect(next);
        late.write(clientFor('ann').first(text('x')));
        await observed(rig, [[late, rejected, 'removed']]);
        assert.equal(rig.engine.streams.length, 3);
      });

      test('refuses new flows of an account that was removed from a handler that was replaced', async () => {
        const rig = new Rig(harness);
        const next = rig.reloaded(['bob']);
        assert.ok(next.accounts);
        accountsOf(rig.memory).replace(next.accounts);
        const connection = rig.connect();
        connection.write(clientFor('ann').first(text('x')));
        await settle();
        assert.equal(rig.engine.origins.length, 0);
        connection.closeWrite();
        for (let step = 0; step < 2; step++) {
          rig.clock.advance(PATIENCE_MS);
          await settle();
        }
        await rig.isClean(connection);
      });
    }

    test('answers a dial that has failed as the protocol has it', async () => {
      for (const code of CODES) {
        const rig = new Rig(harness);
        rig.engine.failure = new DialError(code, 'as the test wishes');
        const client = clientFor();
        const connection = rig.connect();
        connection.write(client.first(text('')));
        await settle();
        const says = harness.refusal?.(code);
        if (says === undefined) {
          assert.equal(connection.state, 'reset');
          assert.equal(opened(client, connection), '');
        } else if (says instanceof RegExp) assert.match(connection.text, says);
        else assert.equal(connection.received.toString('hex'), Buffer.from(says).toString('hex'));
        if (says !== undefined) {
          assert.equal(connection.state, harness.staysAfterRefusal === true ? 'open' : 'end');
        }
        connection.closeWrite();
        await settle();
        await rig.isClean(connection);
        assert.equal(connection.error, undefined, 'the dispatcher has logged it');
      }
    });

    test('reports a fault of the engine, and ends a flow that fails after it was accepted', async () => {
      for (const fails of ['before', 'after'] as const) {
        const rig = new Rig(harness);
        rig.engine.failure = new RangeError('a bug');
        rig.engine.fails = fails;
        const client = clientFor();
        const connection = rig.connect();
        connection.write(client.first(text('')));
        await settle();
        assert.notEqual(connection.state, 'open');
        if (fails === 'after') assert.equal(opened(client, connection), '');
        connection.link.destroy();
        await settle();
        assert.equal(connection.error, rig.engine.failure);
        await rig.isClean(connection);
      }
    });

    test('sends no second reply for a flow that fails after it was accepted', async () => {
      const rig = new Rig(harness);
      rig.engine.failure = new DialError('refused', 'after the sniffing');
      rig.engine.fails = 'after';
      const client = clientFor();
      const connection = rig.connect();
      connection.write(client.first(text('')));
      await settle();
      assert.notEqual(connection.state, 'open');
      assert.equal(opened(client, connection), '');
      await rig.isClean(connection);
    });

    test('takes any bytes in any pieces, and opens flows of those alone who may', async () => {
      const good = clientFor().first(text('hello'));
      const query = harness.datagrams?.client('ann', PEER, name).first(text('query')) ?? good;
      const { secret = 0, atOnce = 0 } = harness;
      const serve = async (pieces: readonly Uint8Array[]): Promise<unknown> => {
        const rig = new Rig(harness);
        rig.engine.failure = new DialError('refused', 'refused');
        const connection = rig.connect();
        for (const piece of pieces) connection.write(piece);
        connection.closeWrite();
        for (let step = 0; step < 4 && !connection.isServed; step++) {
          await settle();
          rig.clock.advance(step < 2 ? 0 : PATIENCE_MS);
        }
        await rig.isClean(connection);
        const { error, state, text: said } = connection;
        assert.ok(error === undefined || error instanceof WeirError, String(error));
        const all = Buffer.concat(pieces);
        const isKnown = [good, query].some((sample) =>
          all.subarray(0, secret).equals(sample.subarray(0, secret)),
        );
        if (!isKnown) assert.deepEqual([rig.engine.requests, said], [0, '']);
        const { streams, associations } = rig.engine;
        // A reset may take away what was said before, and the end of an association what was still to be echoed.
        const isWhole = state !== 'reset' && associations.length === 0;
        return [streams.map(({ destination }) => destination), isWhole && said, codeOf(error)];
      };
      await fc.assert(
        fc.asyncProperty(nearly(good, query), cuts, async (all, at) => {
          const outcome = await serve(
            chunksOf(
              all,
              at.filter((cut) => cut >= atOnce),
            ),
          );
          // What is sealed may be found invalid before its request is served, if it arrives with that; and
          // what follows a rejected request is another one only if it does not.
          if (!sealed && harness.staysAfterRefusal !== true)
            assert.deepEqual(outcome, await serve([all]));
        }),
        { numRuns: harness.runs ?? 40 },
      );
    });

    if (sealed) {
      test('detects a changed byte anywhere, and an end within a message', async () => {
        const { length } = clientFor().first(text('hello'));
        const rig = new Rig(harness);
        const changed = Array.from({ length }, (_, at) => {
          const sent = Buffer.from(clientFor().first(text('hello')));
          const place = Math.min(at, sent.length - 1);
          sent.writeUInt8((sent[place] ?? 0) ^ 0x40, place);
          const connection = rig.connect();
          connection.write(sent);
          connection.closeWrite();
          return connection;
        });
        await settle(2 * length);
        assert.equal(changed.filter(({ error }) => !error).length, rig.engine.streams.length);
        for (const { destination } of rig.engine.streams) assert.deepEqual(destination, SITE);
        for (const origin of rig.engine.origins) {
          const { state, text: passed } = origin;
          if (harness.padded === true && passed === 'hello') origin.closeWrite();
          else assert.deepEqual([passed, state], ['', 'reset']);
        }
        await rig.isClean(...changed);
        const { client, connection, origin } = await flow(rig);
        connection.write(client.more(text('more')).slice(0, -1));
        connection.closeWrite();
        await settle();
        assert.deepEqual([origin.text, origin.state], ['hello', 'reset']);
      });

      test('accepts no request twice, nor its own response', async () => {
        const rig = new Rig(harness);
        const client = clientFor();
        const first = client.first(text('hello'));
        const once = rig.connect();
        once.write(first.slice());
        await settle();
        // What would be an address of SOCKS in a request.
        rig.engine.origins[0]?.write(Buffer.of(1, 192, 0, 2, 7, 0, 80));
        rig.engine.origins[0]?.write(Buffer.alloc(500));
        await settle();
        const response = once.received;
        once.link.destroy();
        await settle();
        const [twice, reflected] = [rig.connect(), rig.connect(rig.reloaded(USERS))];
        twice.write(first.slice());
        reflected.write(response);
        await observed(rig, [
          [twice, rejected, 'a repeated request'],
          [reflected, rejected, 'its own response'],
        ]);
        assert.equal(rig.engine.requests, 1);
      });
    }

    if (rejected.after > 0) {
      test('reads on and keeps nothing of what a rejected client sends', async () => {
        const rig = new Rig(harness);
        const connection = rig.connect();
        const sent = await sendNoise(connection.link);
        for (let i = 0; i < 40; i++) await connection.link.write(Buffer.alloc(16_384, 0x55));
        await settle();
        assert.deepEqual(await uncollected([sent]), []);
        await observed(rig, [[connection, rejected, 'noise']]);
      });
    }

    if (harness.datagrams) datagramConformance(harness.datagrams);
  });

  function datagramConformance(datagrams: DatagramHarness): void {
    const PEERS: readonly Endpoint[] = [
      PEER,
      { host: '2001:db8::7', port: 54 },
      { host: 'dns.example', port: 65_535 },
    ];
    const received = (
      client: DatagramClient,
      connection: Watched,
    ): (readonly [string, Endpoint?])[] =>
      (client.open(connection.received).datagrams ?? []).map(({ data, peer }) =>
        peer ? [latin1(data), peer] : [latin1(data)],
      );
    const associate = (
      rig: Rig,
      peer = PEER,
    ): { client: DatagramClient; connection: Connection } => ({
      client: datagrams.client('ann', peer, `${name} ${seeds++}`),
      connection: rig.connect(),
    });
    const linkOf = (rig: Rig): PacketLink => {
      const link = rig.engine.associations.at(-1)?.client;
      assert.ok(link);
      return link;
    };
    const echo = (data: string, peer: Endpoint): readonly [string, Endpoint?] =>
      datagrams.peers === 'any' ? [data, peer] : [data];

    test('carries datagrams of every size to peers of every kind, and back', async () => {
      const rig = new Rig(harness);
      for (const peer of PEERS) {
        const { client, connection } = associate(rig, peer);
        const sizes = [1, 500, 1400, datagrams.longest];
        connection.write(client.first(text('query')));
        for (const size of sizes) connection.write(client.more(Buffer.alloc(size, size), peer));
        const others = datagrams.peers === 'any' ? PEERS : [];
        for (const other of others) connection.write(client.more(text(`to ${other.host}`), other));
        await settle();
        assert.deepEqual(received(client, connection), [
          echo('query', peer),
          ...sizes.map((size) => echo(latin1(Buffer.alloc(size, size)), peer)),
          ...others.map((other) => echo(`to ${other.host}`, other)),
        ]);
        assert.equal(linkOf(rig).dropped, 0);
        assert.equal(rig.engine.associations.at(-1)?.origin.user, label?.('ann'));
        if (client.end) connection.write(client.end());
        connection.closeWrite();
        await rig.isClean(connection);
        assert.equal(connection.error, undefined);
      }
    });

    test('reads datagrams the same wherever they are split', async () => {
      const { length } = associate(new Rig(harness)).client.first(text('query'));
      for (let at = harness.atOnce ?? 1; at < length + 8; at += 3) {
        const rig = new Rig(harness);
        const { client, connection } = associate(rig);
        const all = Buffer.concat([client.first(text('query')), client.more(text('more'), PEER)]);
        connection.write(all.subarray(0, at));
        await settle();
        connection.write(all.subarray(at));
        await settle();
        assert.deepEqual(received(client, connection), [echo('query', PEER), echo('more', PEER)]);
        connection.link.destroy();
      }
    });

    test('drops and counts what is no datagram, and goes on', async () => {
      for (const invalid of datagrams.invalid) {
        const rig = new Rig(harness);
        const { client, connection } = associate(rig);
        connection.write(
          Buffer.concat([client.first(text('query')), invalid, client.more(text('more'), PEER)]),
        );
        await settle();
        assert.deepEqual(received(client, connection), [echo('query', PEER), echo('more', PEER)]);
        assert.equal(linkOf(rig).dropped, 1);
        connection.link.destroy();
      }
    });

    test('passes datagrams on with their source, and none whose source it cannot name', async () => {
      const other: Endpoint = { host: '198.51.100.1', port: 53 };
      for (const [peer, from, isNamed] of [
        [PEER, other, false],
        [PEER, { ...PEER, port: 54 }, false],
        [{ host: 'dns.example', port: 53 }, other, true],
        [{ host: 'dns.example', port: 53 }, { ...other, port: 54 }, false],
      ] as const) {
        const rig = new Rig(harness);
        rig.engine.answerFrom = from;
        const { client, connection } = associate(rig, peer);
        connection.write(client.first(text('query')));
        await settle();
        const passes = datagrams.peers === 'any' || isNamed;
        assert.deepEqual(received(client, connection), passes ? [echo('query', from)] : []);
        assert.equal(linkOf(rig).dropped, passes ? 0 : 1);
        connection.link.destroy();
      }
    });

    test('ends an association with its connection, and the connection with it', async () => {
      const rig = new Rig(harness);
      const one = associate(rig);
      one.connection.write(one.client.first(text('query')));
      await settle();
      linkOf(rig).close();
      await settle();
      assert.notEqual(one.connection.state, 'open');
      const two = associate(rig);
      two.connection.write(two.client.first(text('query')));
      await settle();
      two.connection.link.destroy(new Error('gone'));
      await rig.isClean(one.connection, two.connection);
    });
  }
}

/** In a frame of its own, which does not keep what it sends. */
async function sendNoise(link: Pick<ByteLink, 'write'>): Promise<WeakRef<object>> {
  const chunk = new Uint8Array(64 << 10).fill(0x55);
  await link.write(chunk);
  return new WeakRef(chunk.buffer);
}

/** Both ends of a connection on loopback; the client half-closes when it has read the end. */
async function socketPair(): Promise<
  AsyncDisposable & { readonly client: Socket; readonly accepted: Socket }
> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepting = once(server, 'connection') as Promise<[Socket]>;
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [[accepted]] = await Promise.all([accepting, once(client, 'connect')]);
  return {
    client,
    accepted,
    async [Symbol.asyncDispose]() {
      client.destroy();
      accepted.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
