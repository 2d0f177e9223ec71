import { createHash } from 'node:crypto';
import { atOnce } from '../../../../src/net/time/turns.ts';
import type { Endpoint } from '../../../../src/net/addresses/address.ts';
import { LinkClosedError } from '../../../../src/net/errors.ts';
import type { ByteLink, Carrier, WireCounter } from '../../../../src/net/links/link.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import type {
  Dispatcher,
  InboundHandler,
  Outbound,
  PacketRequest,
  StreamRequest,
} from '../../../../src/protocols/contract.ts';
import { createVmessInbound } from '../../../../src/protocols/vmess/inbound.ts';
import { VmessOutbound } from '../../../../src/protocols/vmess/outbound.ts';
import type { RandomSource } from '../../../../src/crypto/random-source.ts';
import type { VmessSecurity } from '../../../../src/protocols/vmess/settings.ts';
import type { Session } from '../../../../src/tracker/session.ts';
import { ManualClock } from '../../manual-clock.ts';
import { silentLogger } from '../../../../src/log/output.ts';
import { KeptObjects } from '../../../../src/collections/kept-objects.ts';
import { OwnListeners } from '../../../../src/net/loop-guard/own-listeners.ts';
import { inboundContext } from '../inbound-context.ts';

/** An account that exists in these tests alone. */
export const ID = 'b8314fca25d94e0c9a1b1d3a5c7e9f10';
export const OTHER_ID = '00000000000040008000000000000001';

/** Predictable bytes, the same in every run. */
export class KnownRandom implements RandomSource {
  readonly #seed: string;
  #count = 0;

  constructor(seed = 'weir') {
    this.#seed = seed;
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    this.fill(bytes);
    return bytes;
  }

  below(limit: number): number {
    return this.bytes(4).readUInt32BE() % limit;
  }

  fill(target: Uint8Array): void {
    for (let at = 0; at < target.length; at += 32) {
      const block = createHash('sha256')
        .update(`${this.#seed} ${this.#count++}`)
        .digest();
      target.set(block.subarray(0, target.length - at), at);
    }
  }
}

/** Echoes streams and packets, and writes down what was asked. */
export class EchoDispatcher implements Dispatcher {
  readonly streams: StreamRequest[] = [];
  readonly associations: PacketRequest[] = [];
  /** What `stream` fails with instead. */
  failure: Error | undefined;
  /** Who an echoed packet seems to come from; its destination when left out. */
  answerFrom: Endpoint | undefined;

  async stream(request: StreamRequest): Promise<void> {
    this.streams.push(request);
    if (this.failure) throw this.failure;
    const link = await request.accept();
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
        if (!packet) break;
        client.send({ data: packet.data, peer: this.answerFrom ?? packet.peer });
      }
    } catch {
      // The contract: an association that fails has ended.
    }
    client.close();
  }
}

export interface InboundFixture {
  readonly handler: InboundHandler;
  readonly dispatcher: EchoDispatcher;
  readonly clock: ManualClock;
}

export function inbound(
  ids: readonly string[] = [ID],
  clock = new ManualClock(),
  seed = 'server',
): InboundFixture {
  const dispatcher = new EchoDispatcher();
  const users = ids.map((id) => ({ id }));
  const context = inboundContext('vmess-in', { dispatcher, clock });
  return {
    handler: atOnce(createVmessInbound({ users }, context, new KnownRandom(seed))),
    dispatcher,
    clock,
  };
}

const noWire: WireCounter = { bytesRead: 0, bytesWritten: 0 };

const session: Session = {
  id: 1,
  inbound: 'vmess-in',
  source: '127.0.0.1',
  user: undefined,
  startedAt: 0,
  attach: () => undefined,
};

/** How serving a carrier ended: with its error, or with none. */
export type Served = Promise<Error | undefined>;

/** Serves the far end of a connection as the engine would. */
export function serve({ handler }: InboundFixture, link: ByteLink): Served {
  const served = handler.serve(carrierOf(link), session).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error : new LinkClosedError(String(error))),
  );
  void served.then(() => link.destroy());
  return served;
}

/** A client's end of a connection that `fixture` serves, and how serving it ended. */
export function connectTo(fixture: InboundFixture): {
  readonly client: ByteLink;
  readonly served: Served;
} {
  const [client, link] = linkPair();
  return { client, served: serve(fixture, link) };
}

export const carrierOf = (link: ByteLink): Carrier => ({
  link,
  wire: noWire,
  remote: { host: '::ffff:127.0.0.1', port: 50_000 },
  local: { host: '127.0.0.1', port: 443 },
});

export interface OutboundOptions {
  readonly id?: string;
  readonly security?: VmessSecurity;
  readonly clock?: ManualClock;
  readonly seed?: string;
}

/** An outbound whose carriers come from `dial`. */
export function outbound(
  dial: () => ByteLink | Promise<ByteLink>,
  options: OutboundOptions = {},
): { readonly outbound: Outbound; readonly clock: ManualClock } {
  const { id = ID, security = 'aes-128-gcm', clock = new ManualClock(), seed = 'client' } = options;
  const context = {
    tag: 'vmess-out',
    family: 'auto' as const,
    resolver: { resolve: () => Promise.reject(new Error('nothing is resolved here')) },
    clock,
    log: silentLogger,
    ownListeners: new OwnListeners(),
    shared: new KeptObjects(),
    server: { host: 'vmess.example', port: 443 },
    dial: async () => carrierOf(await dial()),
  };
  return {
    outbound: new VmessOutbound({ id, security }, context, new KnownRandom(seed)),
    clock,
  };
}

export const neverAborted = (): { signal: AbortSignal } => ({
  signal: new AbortController().signal,
});

/** Lets everything that waits for nothing but its turn go on. */
export const settled = (): Promise<void> =>
  new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
