import { relay, linkPair, type ByteLink, type PacketLink } from '@weir/io/links';
import type { Endpoint } from '@weir/io/addresses';
import { DialError, LinkClosedError } from '@weir/io';
import type { Clock } from '@weir/io/time';
import type {
  Dispatcher,
  PacketRequest,
  StreamRequest,
} from '../../../../packages/proxy/src/protocols/contract.ts';

/** What a test needs of a link. */
export type End = Pick<ByteLink, 'read' | 'write' | 'closeWrite' | 'destroy' | 'closed'>;

/** One end of a link, and all that has arrived at it. */
export class Watched {
  readonly link: End;
  received = Buffer.alloc(0);
  /** `closed` is the end of a link that was destroyed for no fault: on a socket a FIN, or a reset over unread bytes. */
  state: 'open' | 'end' | 'closed' | 'reset' = 'open';

  constructor(link: End) {
    this.link = link;
    void this.#watch();
  }

  get text(): string {
    return this.received.toString('latin1');
  }

  /** Writes a copy, since the reader may free what it gets, and does not wait for room. */
  write(bytes: Uint8Array): void {
    // A link that has failed is seen by `state`.
    Promise.resolve(this.link.write(new Uint8Array(bytes))).catch(() => undefined);
  }

  closeWrite(): void {
    this.link.closeWrite().catch(() => undefined);
  }

  async #watch(): Promise<void> {
    try {
      for (;;) {
        const chunk = await this.link.read();
        if (!chunk) break;
        this.received = Buffer.concat([this.received, chunk]);
      }
      this.state = 'end';
    } catch (error) {
      this.state = error instanceof LinkClosedError ? 'closed' : 'reset';
    }
  }
}

/** An engine in place of the real one, which records requests and echoes datagrams. */
export class FakeEngine implements Dispatcher {
  readonly streams: StreamRequest[] = [];
  readonly associations: PacketRequest[] = [];
  /** The destinations' ends of the flows of an engine that relays, in their order. */
  readonly origins: Watched[] = [];
  /** Flows and associations that have not ended. */
  live = 0;
  /** What `stream` fails with before it accepts, or after that. */
  failure: Error | undefined;
  fails: 'before' | 'after' = 'before';
  /** Awaited before each dial succeeds or fails. */
  dialing: Promise<void> | undefined;
  /** The source of an echoed datagram; by default its destination. */
  answerFrom: Endpoint | undefined;
  readonly #carry: (client: ByteLink) => Promise<unknown>;

  /** @param destination of all streams: one that echoes, or the test itself, to which an engine with a clock relays. */
  constructor(destination: 'echo' | Clock) {
    this.#carry =
      destination === 'echo'
        ? echo
        : (client) => {
            const [remote, origin] = linkPair();
            this.onOrigin(origin, client, remote);
            const counter = { addUp: () => undefined, addDown: () => undefined };
            return relay(client, remote, counter, destination);
          };
  }

  get requests(): number {
    return this.streams.length + this.associations.length;
  }

  async stream(request: StreamRequest): Promise<void> {
    this.streams.push(request);
    if (request.origin.account?.isValid === false) {
      throw new DialError('forbidden', 'the account was removed');
    }
    if (this.dialing) await this.dialing;
    if (this.failure && this.fails === 'before') throw this.failure;
    const client = await request.accept();
    if (this.failure) throw this.failure;
    this.live++;
    await this.#carry(client).finally(() => this.live--);
  }

  async packets(request: PacketRequest): Promise<void> {
    this.associations.push(request);
    this.live++;
    const { client } = request;
    await echoPackets(client, () => this.answerFrom);
    client.close();
    this.live--;
  }

  /** Takes the destination's end of a flow, whose other links are those that are relayed. */
  protected onOrigin(origin: ByteLink, _client: ByteLink, _remote: ByteLink): void {
    this.origins.push(new Watched(origin));
  }
}

async function echo(link: ByteLink): Promise<void> {
  for (let chunk = await link.read(); chunk; chunk = await link.read()) await link.write(chunk);
  await link.closeWrite();
}

/**
 * Sends every packet back until the association ends or fails, which is an end by its contract. Never rejects.
 *
 * @param source of the packets sent back; by default their destination
 */
async function echoPackets(client: PacketLink, source: () => Endpoint | undefined): Promise<void> {
  try {
    for (let packet = await client.receive(); packet; packet = await client.receive()) {
      client.send({ data: packet.data, peer: source() ?? packet.peer });
    }
  } catch {
    // It has ended.
  }
}
