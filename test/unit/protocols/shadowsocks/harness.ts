import { hash } from 'node:crypto';
import type { Endpoint } from '../../../../src/net/address.ts';
import { DialError } from '../../../../src/net/errors.ts';
import type { ByteLink, Carrier, Packet, WireCounter } from '../../../../src/net/link.ts';
import { linkPair } from '../../../../src/net/memory-link.ts';
import type {
  ReplyPath,
  DatagramSessions,
  Dispatcher,
  InboundHandler,
  Outbound,
  OutboundContext,
  PacketRequest,
  StreamRequest,
} from '../../../../src/protocols/contract.ts';
import { createShadowsocksInbound } from '../../../../src/protocols/shadowsocks/inbound.ts';
import { METHODS, type MethodName } from '../../../../src/protocols/shadowsocks/methods.ts';
import { createShadowsocksOutbound } from '../../../../src/protocols/shadowsocks/outbound.ts';
import type { Randomness } from '../../../../src/protocols/shadowsocks/randomness.ts';
import type { ShadowsocksInboundSettings } from '../../../../src/protocols/shadowsocks/settings.ts';
import type { Session } from '../../../../src/tracker/session.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { silentLogger } from '../../../../src/log/output.ts';
import { OwnListeners } from '../../../../src/net/own-listeners.ts';
import { inboundContext } from '../inbound-context.ts';

export const METHOD_NAMES = Object.keys(METHODS) as MethodName[];
export const LEGACY = METHOD_NAMES.filter((name) => METHODS[name].edition === 'legacy');
export const MODERN = METHOD_NAMES.filter((name) => METHODS[name].edition === '2022');
export const WITH_IDENTITIES = METHOD_NAMES.filter((name) => METHODS[name].identities);

/** A key of the method's length, in base64. */
export const keyFor = (method: MethodName, byte: number): string =>
  Buffer.alloc(METHODS[method].keyLength, byte).toString('base64');

/** The same bytes every time. */
export class KnownRandomness implements Randomness {
  readonly #seed: string;
  #count = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  bytes(length: number): Buffer {
    const parts: Buffer[] = [];
    for (let have = 0; have < length; have += 32) {
      parts.push(hash('sha256', `${this.#seed} ${this.#count++}`, 'buffer'));
    }
    return Buffer.concat(parts).subarray(0, length);
  }

  below(limit: number): number {
    return this.bytes(4).readUInt32BE() % limit;
  }
}

/** Echoes streams and packets, and writes down what was asked. */
export class EchoDispatcher implements Dispatcher {
  readonly streams: StreamRequest[] = [];
  readonly associations: PacketRequest[] = [];
  /** What every stream begins with. */
  banner = '';

  async stream(request: StreamRequest): Promise<void> {
    this.streams.push(request);
    const link = await request.accept();
    if (this.banner !== '') await link.write(Buffer.from(this.banner));
    for (;;) {
      const chunk = await link.read();
      if (!chunk) break;
      await link.write(chunk);
    }
    await link.closeWrite();
  }

  async packets(request: PacketRequest): Promise<void> {
    this.associations.push(request);
    const { client } = request;
    try {
      for (;;) {
        const packet = await client.receive();
        if (!packet) return;
        client.send(packet);
      }
    } catch {
      // The contract: an association that fails has ended.
    }
  }
}

export const clientAt: Endpoint = { host: '192.0.2.7', port: 50_000 };
const noWire: WireCounter = { bytesRead: 0, bytesWritten: 0 };
const session = (id: number): Session => ({
  id,
  inbound: 'ss',
  source: clientAt.host,
  user: undefined,
  startedAt: 0,
  attach: () => undefined,
});

export interface Server {
  readonly handler: InboundHandler;
  readonly dispatcher: EchoDispatcher;
  readonly clock: ManualClock;
}

export function server(
  method: MethodName,
  settings: Partial<ShadowsocksInboundSettings> = {},
  seed = 'server',
  clock = new ManualClock(),
): Server {
  const dispatcher = new EchoDispatcher();
  const handler = createShadowsocksInbound(
    { method, key: keyFor(method, 1), users: [], ...settings },
    inboundContext('ss', { dispatcher, clock }),
    new KnownRandomness(seed),
  );
  return { handler, dispatcher, clock };
}

/** The far end of a connection that `server` serves, and how serving it ended. */
export function connectTo(
  { handler }: Server,
  remote = clientAt,
): {
  readonly far: ByteLink;
  readonly served: Promise<Error | undefined>;
} {
  const [far, link] = linkPair();
  const carrier: Carrier = { link, wire: noWire, remote, local: undefined };
  const served = handler.serve(carrier, session(1)).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
  void served.then(() => link.destroy());
  return { far, served };
}

export interface Client {
  readonly outbound: Outbound;
  readonly clock: ManualClock;
  /** The far ends of its carriers. */
  readonly dialled: ByteLink[];
}

/** A client; its carriers lead to `to`, or to `dialled` only. */
export function client(
  method: MethodName,
  keys: readonly string[] = [keyFor(method, 1)],
  to?: Server,
  seed = 'client',
  { remote, ...context }: Partial<OutboundContext> & Pick<Partial<Carrier>, 'remote'> = {},
): Client {
  const clock = new ManualClock();
  const dialled: ByteLink[] = [];
  const outbound = createShadowsocksOutbound(
    { method, keys },
    {
      tag: 'out',
      family: 'auto',
      resolver: { resolve: (host) => Promise.reject(new DialError('not_found', host)) },
      clock,
      log: silentLogger,
      ownListeners: new OwnListeners(),
      server: { host: '192.0.2.1', port: 8388 },
      dial: () => {
        let link: ByteLink;
        if (to) link = connectTo(to).far;
        else {
          const [near, far] = linkPair();
          dialled.push(far);
          link = near;
        }
        return Promise.resolve({ link, wire: noWire, remote, local: undefined });
      },
      ...context,
    },
    new KnownRandomness(seed),
  );
  return { outbound, clock, dialled };
}

export const dialOptions = (): { signal: AbortSignal } => ({
  signal: new AbortController().signal,
});

export async function readAll(link: ByteLink): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const chunk = await link.read();
    if (!chunk) return Buffer.concat(chunks);
    chunks.push(chunk);
  }
}

/** Lets everything that waits for nothing but other code go on. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets every limit of a server pass that was set, and those that follow from it. */
export async function expire({ clock }: Server): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await settle();
    clock.advance(60_000);
  }
  await settle();
}

/** A UDP socket of a server, as far as associations see it. */
export class FakeAnswers implements ReplyPath {
  readonly sent: Packet[] = [];
  readonly closed: Promise<Error | undefined>;
  readonly close: () => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.close = () => resolve(undefined);
  }

  send(packet: Packet): void {
    this.sent.push(packet);
  }
}

/** Opens sessions and keeps those that are live. */
export class FakeSessions implements DatagramSessions {
  readonly live = new Map<number, (cause: Error) => void>();
  readonly wires: WireCounter[] = [];
  #last = 0;

  open(_source: string, wire: WireCounter, destroy: (cause: Error) => void) {
    const id = ++this.#last;
    this.live.set(id, destroy);
    this.wires.push(wire);
    return { session: session(id), close: () => void this.live.delete(id) };
  }
}
