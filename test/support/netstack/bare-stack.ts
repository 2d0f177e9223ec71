import type { IpEndpoint, DeviceTraits } from '@weir/base/ip';
import { LARGEST_PACKET } from '../../../packages/netstack/src/limits.ts';
import { Stack, type StackSettings } from '../../../packages/netstack/src/stack.ts';
import type { StackEvent } from '../../../packages/netstack/src/flows/flow-queues.ts';
import type { TraceEvent } from '../../../packages/netstack/src/trace.ts';
import { IpProtocol, type IpPacket } from '../../../packages/netstack/src/wire/ip-packet.ts';
import { readTcpSegment, TcpSegment } from '../../../packages/netstack/src/wire/tcp.ts';
import { parsed } from '../data/ip-packets.ts';
import { SeededRandom } from '../simnet/seeded-random.ts';
import { plainTraits } from './device-pair.ts';
import { PacketCollector } from './stack-node.ts';

export interface BareStackOptions {
  readonly addresses?: 'any' | readonly IpEndpoint[];
  readonly broadcasts?: readonly IpEndpoint[];
  readonly settings?: Partial<StackSettings>;
  readonly maxHeld?: number;
  readonly traits?: DeviceTraits;
  readonly onEvent?: (event: StackEvent, stack: Stack) => void;
}

/** A stack whose packets are in the hands of the test. */
export class BareStack {
  readonly stack: Stack;
  readonly output = new PacketCollector();
  readonly traced: TraceEvent[] = [];
  /** What happened, by name, in order. */
  readonly events: string[] = [];
  now = 0;
  /** As devices have it: one for all packets, and of Node's class, whose `slice` does not copy. */
  readonly #buffer = Buffer.alloc(LARGEST_PACKET);
  readonly #onEvent: ((event: StackEvent, stack: Stack) => void) | undefined;

  constructor(options: BareStackOptions = {}) {
    this.#onEvent = options.onEvent;
    this.stack = new Stack({
      output: this.output,
      traits: options.traits ?? plainTraits(),
      random: new SeededRandom(1),
      now: 0,
      addresses: options.addresses ?? 'any',
      broadcasts: options.broadcasts,
      isPaced: false,
      maxHeld: options.maxHeld,
      settings: { maxFlows: 65_536, udp: true, udpIdle: 60_000, ...options.settings },
      trace: (event) => this.traced.push(event),
    });
  }

  /** Passes packets, and returns what the stack sends. */
  receive(...packets: readonly Uint8Array[]): Uint8Array[] {
    const buffer = this.#buffer;
    for (const packet of packets) {
      buffer.set(packet);
      const record = { start: 0, end: packet.length, checksumVouched: false, segmentSize: 0 };
      this.stack.receive({ buffer, ...record }, this.now);
      buffer.fill(0xee, 0, packet.length);
    }
    return this.settle();
  }

  /** Lets the stack do all it can do, and returns what it sends. */
  settle(): Uint8Array[] {
    const { stack, now } = this;
    do {
      for (let event = stack.nextEvent(now); event; event = stack.nextEvent(now)) {
        this.events.push(event.event);
        this.#onEvent?.(event, stack);
      }
      while (stack.transmit(now) && !stack.isFull);
    } while (stack.hasEvents);
    return this.output.packets.splice(0);
  }

  /** Moves time on, through all deadlines; returns what the stack sends meanwhile. */
  advance(milliseconds: number): Uint8Array[] {
    const until = this.now + milliseconds;
    const sent = this.settle();
    for (let steps = 0; this.stack.nextTimeout() <= until; steps++) {
      if (steps > 100_000) throw new Error('a deadline that does not move on');
      this.now = Math.max(this.now, this.stack.nextTimeout());
      this.stack.onTimeout(this.now);
      sent.push(...this.settle());
    }
    this.now = until;
    return sent;
  }

  /** The reasons for which packets were dropped so far. */
  get drops(): string[] {
    return this.traced.flatMap((event) => (event.kind === 'packet-dropped' ? [event.reason] : []));
  }
}

/** A segment that was sent, and its packet. */
export function sentSegment(bytes: Uint8Array | undefined): { ip: IpPacket; tcp: TcpSegment } {
  if (bytes === undefined) throw new Error('nothing was sent');
  const ip = parsed(bytes);
  const tcp = new TcpSegment();
  if (ip.protocol !== IpProtocol.TCP) throw new Error(`protocol ${ip.protocol}`);
  const fault = readTcpSegment(ip, false, tcp);
  if (fault !== undefined) throw new Error(fault);
  return { ip, tcp };
}
