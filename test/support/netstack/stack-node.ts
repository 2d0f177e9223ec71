import assert from 'node:assert/strict';
import type { IpEndpoint, DeviceTraits, PacketOutput } from '@weir/base/ip';
import { Stack, type StackSettings } from '../../../packages/netstack/src/stack.ts';
import type { StackEvent } from '../../../packages/netstack/src/flows/flow-queues.ts';
import type { Trace } from '../../../packages/netstack/src/trace.ts';
import { IDLE, send, wait, type Datagram, type Node, type Output } from '../simnet/node.ts';
import { SeededRandom } from '../simnet/seeded-random.ts';
import { plainTraits } from './device-pair.ts';

const NOWHERE = { host: '', port: 0 };

/** Collects what a stack sends, as packets of their own. */
export class PacketCollector implements PacketOutput {
  buffer: Uint8Array = new Uint8Array(65_600);
  readonly packets: Uint8Array[] = [];
  /** Packets that are kept before there is no room. */
  room = Infinity;

  reserve(bytes: number): number {
    return this.packets.length >= this.room || bytes > this.buffer.length ? -1 : 0;
  }

  commit(length: number, segmentSize: number, checksumStart: number): void {
    // On a simulated wire nothing completes what is left open.
    assert.equal(segmentSize, 0);
    assert.equal(checksumStart, -1);
    this.packets.push(this.buffer.slice(0, length));
  }
}

/** What runs on a simulated stack. */
export interface App {
  readonly done: boolean;
  /** Called once, before anything else. */
  start?(stack: Stack, now: number): void;
  onEvent(event: StackEvent, stack: Stack, now: number): void;
}

export interface StackNodeOptions {
  readonly name: string;
  readonly app: App;
  readonly addresses: 'any' | readonly IpEndpoint[];
  readonly seed: number;
  readonly traits?: DeviceTraits;
  readonly settings?: Partial<StackSettings>;
  readonly isPaced?: boolean;
  readonly maxHeld?: number;
  readonly trace?: Trace;
  /** Called whenever the stack has done all it can do at a time. */
  readonly check?: (stack: Stack, now: number) => void;
}

/** A stack on a simulated path. */
export class StackNode implements Node {
  readonly name: string;
  readonly stack: Stack;
  readonly #app: App;
  readonly #output = new PacketCollector();
  readonly #check: ((stack: Stack, now: number) => void) | undefined;
  #isStarted = false;

  constructor(options: StackNodeOptions) {
    this.name = options.name;
    this.#app = options.app;
    this.#check = options.check;
    this.stack = new Stack({
      output: this.#output,
      traits: options.traits ?? plainTraits(),
      random: new SeededRandom(options.seed),
      now: 0,
      addresses: options.addresses,
      isPaced: options.isPaced ?? false,
      maxHeld: options.maxHeld,
      settings: { maxFlows: 65_536, udp: true, udpIdle: 60_000, ...options.settings },
      trace: options.trace,
    });
  }

  get done(): boolean {
    return this.#app.done;
  }

  process(datagram: Datagram | undefined, now: number): Output {
    const { stack } = this;
    if (!this.#isStarted) {
      this.#isStarted = true;
      this.#app.start?.(stack, now);
    }
    if (datagram) {
      const { data } = datagram;
      const record = { start: 0, end: data.length, checksumVouched: false, segmentSize: 0 };
      stack.receive({ buffer: data, ...record }, now);
    }
    this.#run(now);
    for (let rounds = 0; stack.nextTimeout() <= now; rounds++) {
      assert.ok(rounds < 100, 'a deadline that does not move on');
      stack.onTimeout(now);
      this.#run(now);
    }
    const next = this.#output.packets.shift();
    if (next) return send({ data: next, from: NOWHERE, to: NOWHERE });
    this.#check?.(stack, now);
    const until = stack.nextTimeout();
    assert.ok(until > now, 'a deadline in the past');
    return until === Infinity ? IDLE : wait(until);
  }

  #run(now: number): void {
    const { stack } = this;
    do {
      for (let event = stack.nextEvent(now); event; event = stack.nextEvent(now)) {
        this.#app.onEvent(event, stack, now);
      }
      while (stack.transmit(now));
    } while (stack.hasEvents);
    const { length } = this.#output.packets;
    assert.equal(stack.transmit(now), false);
    assert.equal(this.#output.packets.length, length, 'transmitting twice sends more');
  }
}
