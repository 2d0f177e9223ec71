import assert from 'node:assert/strict';
import type { IpEndpoint } from '@weir/base/ip';
import type { Stack } from '../../../packages/netstack/src/stack.ts';
import type { StackEvent } from '../../../packages/netstack/src/flows/flow-queues.ts';
import type { TcpFlow } from '../../../packages/netstack/src/flows/tcp-flow.ts';
import type { App } from './stack-node.ts';

const PERIOD = 65_521;
const CHUNK = 20_000;

/** Bytes that differ wherever a stream may be shifted, cut or repeated. */
const SAMPLE = Uint8Array.from({ length: PERIOD + CHUNK }, (_, at) => {
  const place = at % PERIOD;
  return (Math.imul(place, 0x9e37_79b1) >>> 13) & 0xff;
});

/** One end of a connection that sends so many bytes of the sample, and checks what it receives. */
class Side {
  sent = 0;
  received = 0;
  isEnded = false;
  isFinished = false;
  readonly #toSend: number;

  constructor(toSend: number) {
    this.#toSend = toSend;
  }

  onEvent({ connection }: TcpFlow, now: number): void {
    for (;;) {
      const chunk = connection.read(now);
      if (chunk === undefined) break;
      this.#verify(chunk);
    }
    this.isEnded ||= connection.isEnded;
    while (this.sent < this.#toSend) {
      const size = Math.min(CHUNK, this.#toSend - this.sent);
      const from = this.sent % PERIOD;
      this.sent += size;
      if (!connection.write(SAMPLE.slice(from, from + size))) break;
    }
    if (this.sent === this.#toSend) connection.closeWrite();
  }

  #verify(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length;) {
      const from = (this.received + at) % PERIOD;
      const size = Math.min(chunk.length - at, SAMPLE.length - from);
      const expected = SAMPLE.subarray(from, from + size);
      const matches = Buffer.from(chunk.buffer, chunk.byteOffset + at, size).equals(expected);
      assert.ok(matches, `other bytes from ${this.received + at} on`);
      at += size;
    }
    this.received += chunk.length;
  }
}

export interface TransferOptions {
  readonly connections: number;
  /** Bytes of each connection from the one that begins it, and back. */
  readonly up: number;
  readonly down: number;
  /** Whether a request is one of them; others are accepted, and nothing comes of them. */
  readonly isOurs?: (flow: TcpFlow) => boolean;
}

/** A program at one end of `connections` transfers. It ends when it has everything and all of its own arrived. */
export class TransferApp implements App {
  readonly #options: TransferOptions;
  readonly #to: IpEndpoint | undefined;
  readonly #sides = new Map<TcpFlow, Side>();
  #finished = 0;

  /** @param to where to connect to; `undefined` for the other end. */
  constructor(options: TransferOptions, to?: IpEndpoint) {
    this.#options = options;
    this.#to = to;
  }

  get done(): boolean {
    return this.#finished === this.#options.connections;
  }

  start(stack: Stack, now: number): void {
    if (this.#to === undefined) return;
    for (let index = 0; index < this.#options.connections; index++) {
      const flow = stack.connect(this.#to, now);
      assert.ok(flow);
      this.#sides.set(flow, new Side(this.#options.up));
    }
  }

  onEvent({ network, flow, event }: StackEvent, stack: Stack, now: number): void {
    assert.ok(network === 'tcp');
    if (this.#options.isOurs?.(flow) === false) {
      if (event === 'requested') stack.tcp.accept(flow);
      return;
    }
    if (event === 'requested') {
      this.#sides.set(flow, new Side(this.#options.down));
      stack.tcp.accept(flow);
      return;
    }
    assert.notEqual(event, 'failed', `it failed: ${flow.connection.failure}`);
    if (event === 'closed') return;
    const side = this.#sides.get(flow);
    assert.ok(side);
    const { isEnded: wasEnded, isFinished: wasFinished } = side;
    side.onEvent(flow, now);
    stack.tcp.touch(flow);
    side.isFinished ||= event === 'finished';
    if (side.isEnded && side.isFinished && !(wasEnded && wasFinished)) {
      assert.equal(side.received, this.#to ? this.#options.down : this.#options.up);
      this.#finished++;
    }
  }
}
