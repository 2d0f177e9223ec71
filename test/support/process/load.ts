import { createCipheriv, type Cipheriv } from 'node:crypto';
import type { Socket } from 'node:net';
import type { FlowView } from '@weir/server/api/views';
import type { ApiClient } from '../../../packages/server/test/conformance/api-client.ts';
import { readUpTo } from '../read.ts';
import { tcpServer, type Origin } from '../peers/servers.ts';
import { UdpAssociation, type AssociateOptions } from '../peers/socks-udp.ts';
import type { Address } from '../data/address.ts';
import { eventually } from '../wait.ts';

/**
 * A steady load of known bytes through a proxy: each flow has a destination of its own in
 * 127.0.0.0/8, so that the bytes of the client can be compared with those that the proxy reports for
 * the flow to that address.
 */

/** An endless stream of bytes, the same for both ends, in which a lost or doubled one shows. */
const keystream = (): Cipheriv =>
  createCipheriv('aes-128-ctr', Buffer.alloc(16, 7), Buffer.alloc(16));

const ASK = 4;

/** Sends as many bytes as each four bytes of the client ask for, of one stream per connection. */
export const streamOrigin = (): Promise<Origin> =>
  tcpServer(async (socket) => {
    const stream = keystream();
    for (;;) {
      const ask = await readUpTo(socket, ASK);
      if (!ask) break;
      socket.write(stream.update(Buffer.alloc(ask.readUInt32BE())));
    }
    socket.end();
  }, '0.0.0.0');

/** An address for each flow; `undefined` never comes twice. */
let flows = 0;
export function ownAddress(): string {
  flows++;
  return `127.${1 + ((flows >> 16) & 127)}.${(flows >> 8) & 255}.${flows & 255}`;
}

/** What a client moved to one address. */
export interface Moved {
  readonly host: string;
  up: number;
  down: number;
}

/** One flow that asks for more again and again. */
export class Download implements Disposable {
  readonly moved: Moved;
  readonly #socket: Socket;
  readonly #stream = keystream();

  constructor(socket: Socket, host: string) {
    this.#socket = socket;
    this.moved = { host, up: 0, down: 0 };
  }

  /** Asks for `size` bytes and checks each of them. */
  async round(size: number): Promise<void> {
    const ask = Buffer.alloc(ASK);
    ask.writeUInt32BE(size);
    this.#socket.write(ask);
    this.moved.up += ASK;
    const bytes = await readUpTo(this.#socket, size);
    if (!bytes) throw new Error(`the flow to ${this.moved.host} was aborted`);
    this.moved.down += size;
    if (!bytes.equals(this.#stream.update(Buffer.alloc(size)))) {
      throw new Error(`the flow to ${this.moved.host} brought other bytes`);
    }
  }

  /** Ends it as a client does, and sees the origin end it too. */
  async end(): Promise<void> {
    this.#socket.end();
    if (await readUpTo(this.#socket, 1)) throw new Error('bytes that were not requested');
    this.#socket.destroy();
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** A UDP association that sends to one address of its own and waits for each reply. */
export class Chatter implements Disposable {
  readonly moved: Moved;
  readonly #association: UdpAssociation;
  readonly #port: number;

  private constructor(association: UdpAssociation, host: string, port: number) {
    this.#association = association;
    this.#port = port;
    this.moved = { host, up: 0, down: 0 };
  }

  /** @param port of a server that sends datagrams back and listens on all addresses. */
  static async open(proxy: Address, port: number, options?: AssociateOptions): Promise<Chatter> {
    return new Chatter(await UdpAssociation.open(proxy, options), ownAddress(), port);
  }

  async round(size: number): Promise<void> {
    const data = Buffer.alloc(size, size);
    this.#association.send({ host: this.moved.host, port: this.#port }, data);
    this.moved.up += size;
    const reply = await this.#association.receive();
    this.moved.down += reply.data.length;
    if (!reply.data.equals(data)) throw new Error('another datagram than was sent');
  }

  end(): void {
    this.#association.control.destroy();
  }

  [Symbol.dispose](): void {
    this.#association[Symbol.dispose]();
  }
}

/** Does `round` at every beat until stopped, one at a time; what fails is kept for `stop`. */
export class Beats implements Disposable {
  readonly #timer: NodeJS.Timeout;
  readonly #failures: unknown[] = [];
  readonly #running = new Set<Promise<void>>();

  /** @param rounds each waits for its own last beat before it takes the next. */
  constructor(everyMs: number, rounds: readonly (() => Promise<void>)[]) {
    const busy = new Set<() => Promise<void>>();
    this.#timer = setInterval(() => {
      for (const round of rounds) {
        if (busy.has(round)) continue;
        busy.add(round);
        const run = round().then(
          () => void busy.delete(round),
          // One that failed once stays busy: it is not asked again.
          (error: unknown) => void this.#failures.push(error),
        );
        this.#running.add(run);
        void run.finally(() => this.#running.delete(run));
      }
    }, everyMs);
  }

  get failures(): readonly unknown[] {
    return this.#failures;
  }

  /** Waits for what is under way. @throws the first failure. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  /** For a test that fails before it stops it. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** Adds up what the API reports of flows that have ended, by destination. */
export class Ledger implements Disposable {
  readonly #closed = new Map<string, Moved & { flows: number }>();
  readonly #stop: () => void;
  #lagged = 0;

  private constructor(stop: () => void) {
    this.#stop = stop;
  }

  static async of(api: ApiClient): Promise<Ledger> {
    const events = await api.events('/v1/connections/events');
    const ledger = new Ledger(() => events[Symbol.dispose]());
    const read = async (): Promise<void> => {
      for (;;) {
        const event = await events.next();
        if (!event) return;
        if (event.name === 'closed') ledger.#add(event.data as FlowView);
        if (event.name === 'lagged') ledger.#lagged++;
      }
    };
    // Waiting in vain for an event is no failure here: what is missing shows in `agrees`.
    void read().catch(() => undefined);
    return ledger;
  }

  /** Flows that have ended. */
  get size(): number {
    let size = 0;
    for (const { flows: some } of this.#closed.values()) size += some;
    return size;
  }

  /** How many flows to that host have ended. */
  endedTo(host: string): number {
    return this.#closed.get(host)?.flows ?? 0;
  }

  /** Waits until the ended flows to each address amount to what was moved to it. */
  async agrees(all: readonly Moved[]): Promise<void> {
    for (const { host, up, down } of all) {
      const seen = (): string => {
        const { up: seenUp = 0, down: seenDown = 0 } = this.#closed.get(host) ?? {};
        return `${seenUp}/${seenDown}`;
      };
      await eventually(
        () => `${host}: the client moved ${up}/${down}, the proxy counted ${seen()}`,
        () => seen() === `${up}/${down}`,
      );
    }
    if (this.#lagged > 0) throw new Error('the reader of events was too slow to see them all');
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  #add({ host, up, down }: FlowView): void {
    const known = this.#closed.get(host) ?? { host, up: 0, down: 0, flows: 0 };
    known.up += up;
    known.down += down;
    known.flows++;
    this.#closed.set(host, known);
  }
}
