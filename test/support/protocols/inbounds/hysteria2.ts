import assert from 'node:assert/strict';
import { isIPv6 } from 'node:net';
import { Http3Client, type Http3ResponseHead } from '@weir/http/http3';
import { ReadQueue } from '@weir/io/links';
import { HANDSHAKE_MS, atOnce } from '@weir/io/time';
import type {
  InboundContext,
  SessionRegistry,
  SessionListener,
  SessionServer,
} from '../../../../packages/proxy/src/protocols/contract.ts';
import { Authenticator } from '../../../../packages/proxy/src/protocols/hysteria2/authentication.ts';
import { Hysteria2Server } from '../../../../packages/proxy/src/protocols/hysteria2/inbound.ts';
import { endpointsOn } from '../../../../packages/proxy/src/protocols/hysteria2/quic-endpoints.ts';
import type { AcceptedAccounts } from '../../../../packages/proxy/src/protocols/users/accounts.ts';
import type { QuicConnection } from '@weir/quic';
import type {
  ClientEnd,
  DatagramClient,
  Ending,
  Inbound,
  InboundHarness,
  User,
} from '../../../../packages/proxy/test/conformance/inbound/harness.ts';
import { CLIENT_HOST, SESSION } from '../../../../packages/proxy/test/conformance/inbound/rig.ts';
import { serverSettings } from '../hysteria2/harness.ts';
import { authentication } from '../hysteria2/requests.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryNetwork } from '../../quic/endpoint/memory-network.ts';
import { testClientTls, testServerTls } from '../../quic/tls.ts';
import { SeededRandom } from '../../simnet/seeded-random.ts';
import type { Target } from './address.ts';
import { bytes } from './bytes.ts';

const SERVER = { host: '192.0.2.1', port: 443 };
const H3_NO_ERROR = 0x100;
/** Acknowledgements and pacing take a time, which is short for time limits. */
const SETTLE_MS = 100;
/** Within it a closed connection has forgotten its peer. */
const CLOSING_MS = 10_000;
const tls = { server: testServerTls(), client: testClientTls() };

/** A client's connection, after its request to be authenticated. */
interface Session {
  readonly connection: QuicConnection;
  readonly datagrams: ReadQueue<Uint8Array>;
}

/** A listener with its clients, over real QUIC in memory. */
class Hysteria2 implements Inbound {
  readonly #clock: ManualClock;
  readonly #network: MemoryNetwork;
  readonly #random = new SeededRandom(1);
  readonly #server: SessionServer;
  readonly #means: ReturnType<typeof endpointsOn>;
  readonly #sessions = new Map<User, Session>();
  readonly #connections = new Set<QuicConnection>();
  #listener: SessionListener | undefined;

  constructor(users: readonly User[], context: InboundContext) {
    assert.ok(context.clock instanceof ManualClock);
    this.#clock = context.clock;
    this.#network = new MemoryNetwork(this.#clock, CLIENT_HOST);
    this.#network.fate = () => 0;
    this.#means = endpointsOn({ sockets: this.#network.bind, soon: this.#network.soon });
    const { bindServer } = this.#means;
    const credentials = {
      users: users.map((user) => ({ user, pass: `of ${user}`, label: user })),
    };
    this.#server = new Hysteria2Server(
      atOnce(Authenticator.of(credentials)),
      context,
      { ...serverSettings, credentials },
      {
        // The padding of responses depends on nothing but their order.
        bind: (where, parts) => bindServer(where, { ...parts, random: new SeededRandom(2) }),
        createTls: () => tls.server,
        random: this.#random,
      },
    );
  }

  get accounts(): AcceptedAccounts | undefined {
    return this.#server.accounts;
  }

  async connect(_: unknown, user: User): Promise<ClientEnd> {
    let session = this.#sessions.get(user);
    if (!session || !this.#connections.has(session.connection)) {
      this.#sessions.set(user, (session = await this.#authenticate(user)));
    }
    const link = await this.#run(session.connection.openStream('bidirectional'));
    return { link, served: link.closed.then((error) => error && Promise.reject(error)) };
  }

  async associate(user: User): Promise<ClientEnd> {
    const { connection, datagrams } = await this.#authenticate(user);
    const closed = connection.closed.then(() => undefined);
    const close = (): void => connection.close(H3_NO_ERROR);
    return {
      link: {
        read: () => datagrams.take(),
        write(data) {
          for (const datagram of framed(Buffer.from(data))) {
            assert.ok(connection.sendDatagram(datagram));
          }
          return undefined;
        },
        closeWrite: async () => close(),
        destroy: close,
        closed,
      },
      served: closed,
    };
  }

  async settle(): Promise<void> {
    const end = this.#clock.now() + SETTLE_MS;
    for (let idle = 0; idle < 2; idle++) {
      // A turn of those who wait for the network, and one of the network.
      await new Promise((resolve) => setImmediate(resolve));
      if (await this.#network.turn()) idle = -1;
      const wait = this.#clock.next - this.#clock.now();
      if (idle < 1 || this.#clock.next > end) continue;
      this.#clock.advance(wait);
      idle = -1;
    }
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close(H3_NO_ERROR);
    await this.settle();
    this.#listener?.destroy(new Error('over'));
    this.#listener = undefined;
    await this.#pass(CLOSING_MS);
    assert.equal(this.#network.sockets, 0);
  }

  async #authenticate(user: User): Promise<Session> {
    await this.#listen();
    const datagrams = new ReadQueue<Uint8Array>();
    const late: { http?: Http3Client } = {};
    const { connection } = await this.#means.dialServer({
      server: SERVER,
      tls: tls.client,
      clock: this.#clock,
      random: this.#random,
      obfuscation: undefined,
      handlers: {
        onStream: (stream) => late.http?.accept(stream),
        onDatagram: (data) => datagrams.push(withLength(data)),
      },
    });
    this.#connections.add(connection);
    void connection.closed.then(() => {
      this.#connections.delete(connection);
      datagrams.end();
    });
    await this.#run(connection.established);
    const http = (late.http = new Http3Client(connection));
    const ask = (credential: string): Promise<Http3ResponseHead> =>
      this.#run(http.request(authentication({ 'hysteria-auth': credential })));
    const response = await ask(`${user}:of ${user}`);
    // One that is rejected has the response of any other web server's visitor.
    if (response.status !== 233) assert.deepEqual(response, await ask(''));
    return { connection, datagrams };
  }

  async #listen(): Promise<void> {
    if (this.#listener) return;
    this.#listener = await this.#server.bind({ kind: 'ip', ...SERVER }, BOOK);
    this.#listener.serve();
  }

  /** Lets the network go on until a promise is settled. */
  async #run<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    void Promise.allSettled([promise]).then(() => (isSettled = true));
    for (let step = 0; step < 100; step++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (isSettled) break;
      await this.settle();
    }
    assert.ok(isSettled, 'it takes time');
    return promise;
  }

  async #pass(milliseconds: number): Promise<void> {
    const end = this.#clock.now() + milliseconds;
    while (this.#clock.next <= end) {
      this.#clock.advance(this.#clock.next - this.#clock.now());
      await this.settle();
    }
  }
}

const BOOK: SessionRegistry = {
  open: () => ({ session: SESSION, moved: () => undefined, close: () => undefined }),
  hold: () => () => undefined,
};

/** RFC 9000 §16, in two bytes. */
const varint = (value: number): Buffer => Buffer.of(0x40 | (value >> 8), value & 0xff);

const addressOf = ({ host, port }: Target): Buffer => {
  const name = typeof host === 'string' ? Buffer.from(host) : host.name;
  const isBare = isIPv6(name.toString('latin1'));
  return Buffer.concat([bytes(isBare ? `'['` : ''), name, bytes(`'${isBare ? ']' : ''}:${port}'`)]);
};

/** Padding that is another frame for a server of HTTP/3, as the request is one. */
const PADDING = Buffer.concat([Buffer.of(0x21, 0x20), Buffer.alloc(0x20)]);

/** A TCP request: its frame type, the address, padding. */
const request = (address: Buffer): Buffer =>
  Buffer.concat([varint(0x401), varint(address.length), address, PADDING]);

/** What follows a TCP response: a status, a message and padding. Empty while that is not complete. */
function afterResponse(received: Buffer): Buffer {
  if (received.length > 0) assert.equal(received[0], 0, 'a success');
  let at = 1;
  for (const what of ['message', 'padding']) {
    const size = 1 << ((received[at] ?? 0) >> 6);
    if (received.length < at + size) return Buffer.alloc(0);
    assert.ok(size <= 2, what);
    const length = size === 1 ? received.readUInt8(at) : received.readUInt16BE(at) & 0x3fff;
    at += size + length;
  }
  return received.subarray(at);
}

/** Datagrams in a row, each behind its length. */
const withLength = (data: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(data.length >> 8, data.length & 0xff), data]);

function* framed(row: Buffer): Generator<Buffer> {
  for (let at = 0; at < row.length;) {
    const end = at + 2 + row.readUInt16BE(at);
    yield row.subarray(at + 2, end);
    at = end;
  }
}

/** What a datagram has of a message, which has others of them when it is long. */
const FRAGMENT = 1000;

/** A message in as many datagrams as it takes: session, packet, fragment, their number, address, data. */
function message(data: Uint8Array, address: Buffer, packet: number): Buffer {
  const count = Math.max(1, Math.ceil(data.length / FRAGMENT));
  return Buffer.concat(
    Array.from({ length: count }, (_, index) =>
      withLength(
        Buffer.concat([
          Buffer.of(0, 0, 0, 7, packet >> 8, packet & 0xff, index, count),
          varint(address.length),
          address,
          data.subarray(index * FRAGMENT, (index + 1) * FRAGMENT),
        ]),
      ),
    ),
  );
}

/** The beginning of a response that is a failure. */
const failure = (message: string): RegExp => new RegExp(`^\u0001.${message}`, 's');

const RESET: Ending = { how: 'reset', after: HANDSHAKE_MS };
const AT_ONCE: Ending = { how: 'reset', after: 0 };

/** https://v2.hysteria.network/docs/developers/Protocol/ */
export const hysteria2: InboundHarness = {
  ownsSessions: true,
  create: (users, context) => new Hysteria2(users, context),
  label: (user) => user,
  client: (_, destination) => ({
    first: (payload) => Buffer.concat([request(addressOf(destination)), payload]),
    more: (payload) => payload,
    open: (received) => ({ payload: afterResponse(received) }),
  }),
  // Each begins with a handshake.
  runs: 20,
  rejected: RESET,
  // A stream of which nothing was sent is none yet.
  stopped: (sent) => (sent === 0 ? undefined : RESET),
  invalidName: { how: 'end', after: 0, says: failure('the address is invalid') },
  refusal: () => failure('as the test wishes'),
  rejections: [
    {
      name: 'an empty address',
      sends: bytes('4401 00 00'),
      error: /the address is empty/,
      ending: AT_ONCE,
    },
    {
      name: 'an address that is too long',
      sends: Buffer.concat([varint(0x401), varint(2049)]),
      error: /the address is longer than 2048 bytes/,
      ending: AT_ONCE,
    },
    {
      name: 'padding that is too long',
      sends: Buffer.concat([bytes(`4401 03 'a:1'`), varint(4097)]),
      error: /the padding is longer than 4096 bytes/,
      ending: AT_ONCE,
    },
  ],
  datagrams: {
    peers: 'any',
    ofSession: true,
    longest: 4096,
    invalid: [
      message(Buffer.from('x'), Buffer.from('a b:53'), 0),
      message(Buffer.from('x'), Buffer.from('dns.example'), 0),
      message(Buffer.from('x'), Buffer.from('dns.example:65536'), 0),
    ],
    client: (_, peer): DatagramClient => {
      let packets = 0;
      const to = (data: Uint8Array, target: Target): Buffer =>
        message(data, addressOf(target), ++packets);
      return { first: (data) => to(data, peer), more: to, open: openMessages };
    },
  },
};

/** The messages of a session, whose fragments follow each other. */
function openMessages(received: Buffer): ReturnType<DatagramClient['open']> {
  const datagrams = [];
  let parts: Buffer[] = [];
  for (const datagram of framed(received)) {
    const [index, count] = [datagram.readUInt8(6), datagram.readUInt8(7)];
    assert.equal(index, parts.length);
    const size = datagram.readUInt8(8);
    const address = datagram.toString('latin1', 9, 9 + size);
    const [, host = '', port] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? [];
    parts.push(datagram.subarray(9 + size));
    if (parts.length < count) continue;
    datagrams.push({ data: Buffer.concat(parts), peer: { host, port: Number(port) } });
    parts = [];
  }
  return { payload: Buffer.alloc(0), datagrams };
}
