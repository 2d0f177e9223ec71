import { type ConnectionChoices, Driven } from './tcp-rig.ts';
import type { Segment } from './segments.ts';

export type Side = 'client' | 'server';

/** Two connections and what is on its way between them, driven by hand. */
export class TcpPair {
  readonly client: Driven;
  readonly server: Driven;
  /** What was sent to each side and has not arrived. */
  readonly toClient: Segment[] = [];
  readonly toServer: Segment[] = [];
  now = 0;

  /** @param client 'active' unless it says otherwise; the server is 'passive', and accepts. */
  constructor(client: ConnectionChoices = {}, server: ConnectionChoices = {}) {
    this.client = new Driven({ role: 'active', initialSequence: 0xffff_f000, ...client });
    this.server = new Driven({ role: 'passive', initialSequence: 0x7fff_f000, ...server });
    if ((server.role ?? 'passive') === 'passive') this.server.connection.accept();
    this.settle();
  }

  static established(client: ConnectionChoices = {}, server: ConnectionChoices = {}): TcpPair {
    const pair = new TcpPair(client, server);
    pair.deliver();
    pair.client.takeEvents();
    pair.server.takeEvents();
    return pair;
  }

  /** Lets both sides send what they have to send. */
  settle(): void {
    this.client.settle();
    this.server.settle();
    this.toServer.push(...this.client.out.take());
    this.toClient.push(...this.server.out.take());
  }

  /** The next segment to a side arrives. False when there is none. */
  step(to: Side): boolean {
    const segment = (to === 'client' ? this.toClient : this.toServer).shift();
    if (segment === undefined) return false;
    this[to].receive(segment);
    this.settle();
    return true;
  }

  /** Everything arrives, and what is sent in response, until it is quiet. */
  deliver(): void {
    this.settle();
    for (let steps = 0; this.step('server') || this.step('client'); steps++) {
      if (steps > 100_000) throw new Error('the two never stop');
    }
  }

  /** Everything that is on its way to a side is lost. */
  drop(to: Side): Segment[] {
    this.settle();
    return (to === 'client' ? this.toClient : this.toServer).splice(0);
  }

  /** Time passes for both; what timeouts send stays on its way. */
  advance(ms: number): void {
    const until = this.now + ms;
    for (let calls = 0; this.#next() <= until; calls++) {
      if (calls > 10_000) throw new Error('a deadline that does not move on');
      this.#at(Math.max(this.now, this.#next()));
    }
    this.#at(until);
  }

  /** The same, with everything delivered as it is sent. */
  run(ms: number): void {
    const until = this.now + ms;
    this.deliver();
    for (let calls = 0; this.#next() <= until; calls++) {
      if (calls > 100_000) throw new Error('a deadline that does not move on');
      this.#at(Math.max(this.now, this.#next()));
      this.deliver();
    }
    this.#at(until);
    this.deliver();
  }

  #next(): number {
    return Math.min(this.client.connection.nextTimeout(), this.server.connection.nextTimeout());
  }

  #at(now: number): void {
    this.now = now;
    for (const side of [this.client, this.server]) {
      side.now = now;
      side.connection.onTimeout(now);
    }
    this.settle();
  }
}

/** Reads everything that a side has. */
export function readAll(side: Driven): Buffer {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const chunk = side.connection.read(side.now);
    if (chunk === undefined) return Buffer.concat(chunks);
    chunks.push(chunk);
  }
}

/** `size` bytes that differ by their place. */
export function pattern(size: number, from = 0): Buffer {
  const bytes = Buffer.alloc(size);
  for (let index = 0; index < size; index++) {
    const at = from + index;
    bytes[index] = (at ^ (at >>> 8) ^ (at >>> 16)) & 0xff;
  }
  return bytes;
}
