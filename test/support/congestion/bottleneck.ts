import type { CongestionController } from '../../../packages/congestion/src/controller.ts';
import { SentFacts, SendControl } from '@weir/congestion';
import { SeededRandom } from '../simnet/seeded-random.ts';

/** Bytes of every packet. */
export const MTU = 1250;
/** How long a receiver waits for a second packet before it acknowledges, as QUIC's do. */
const ACK_DELAY = 25;
const ACK_EVERY = 2;
const PACKET_THRESHOLD = 3;
const TIME_THRESHOLD = 9 / 8;
/** Timers fire up to a millisecond late, as Node's do, which also keeps flows out of step. */
const TIMER_LATENESS = 1;
/** More packets than are ever in flight. */
const CAPACITY = 1 << 16;

export interface FlowOptions {
  readonly controller: CongestionController;
  /** Round trip without a queue, in ms. */
  readonly rtt: number;
  readonly startAt?: number;
  readonly stopAt?: number;
  /** Bytes per ms that the application has to send; without limit when left out. */
  readonly demand?: (now: number) => number;
}

export interface PathOptions {
  readonly seed: number;
  /** Bytes per ms of the bottleneck at a time. */
  readonly rate: (now: number) => number;
  /** Bytes that wait before the bottleneck at most. */
  readonly buffer: number;
  /** Probability with which each packet is lost before the bottleneck. */
  readonly loss?: (now: number) => number;
  /** Adds up to so many ms to each packet's way, without reordering. */
  readonly jitter?: number;
  /** Called after every acknowledgement. */
  readonly onAck?: (now: number, flow: Flow) => void;
}

/** Numbers in a ring that grows. */
class Fifo {
  #items = new Float64Array(1024);
  #first = 0;
  #count = 0;

  get size(): number {
    return this.#count;
  }

  get first(): number {
    return this.#count === 0 ? Infinity : (this.#items[this.#first] ?? 0);
  }

  push(value: number): void {
    if (this.#count === this.#items.length) {
      const grown = new Float64Array(this.#count * 2);
      for (let i = 0; i < this.#count; i++) {
        grown[i] = this.#items[(this.#first + i) % this.#count] ?? 0;
      }
      this.#items = grown;
      this.#first = 0;
    }
    this.#items[(this.#first + this.#count) % this.#items.length] = value;
    this.#count++;
  }

  shift(): number {
    const value = this.first;
    this.#first = (this.#first + 1) % this.#items.length;
    this.#count--;
    return value;
  }
}

/** A bottleneck with a queue that drops what does not fit, shared by flows. */
export class Path {
  readonly #options: PathOptions;
  readonly random: SeededRandom;
  #freeAt = 0;
  #lastArrival = 0;
  /** Queue delays of what passed since `measure` was last called. */
  #delaySum = 0;
  #delayMax = 0;
  #passed = 0;

  constructor(options: PathOptions) {
    this.#options = options;
    this.random = new SeededRandom(options.seed);
  }

  get options(): PathOptions {
    return this.#options;
  }

  get meanQueueDelay(): number {
    return this.#passed === 0 ? 0 : this.#delaySum / this.#passed;
  }

  get maxQueueDelay(): number {
    return this.#delayMax;
  }

  measure(): void {
    this.#delaySum = 0;
    this.#delayMax = 0;
    this.#passed = 0;
  }

  /** When a packet that arrives now leaves the bottleneck; undefined when it is lost. */
  pass(now: number): number | undefined {
    if (this.random.chance(this.#options.loss?.(now) ?? 0)) return undefined;
    const rate = this.#options.rate(now);
    const wait = Math.max(0, this.#freeAt - now);
    if (wait * rate > this.#options.buffer) return undefined;
    this.#freeAt = Math.max(this.#freeAt, now) + MTU / rate;
    this.#delaySum += wait;
    this.#delayMax = Math.max(this.#delayMax, wait);
    this.#passed++;
    const late = this.random.fraction() * (this.#options.jitter ?? 0);
    this.#lastArrival = Math.max(this.#lastArrival, this.#freeAt + late);
    return this.#lastArrival;
  }
}

const IN_FLIGHT = 1;
const DONE = 2;

/** A sender with QUIC's loss detection, and its receiver. */
export class Flow {
  readonly control: SendControl;
  readonly options: FlowOptions;
  readonly #path: Path;
  readonly #facts = new SentFacts(CAPACITY);
  readonly #state = new Uint8Array(CAPACITY);
  /** Packets that arrive at the receiver: number and time. */
  readonly #arriving = new Fifo();
  readonly #arrivalTimes = new Fifo();
  /** What was received and not yet acknowledged. */
  readonly #received = new Fifo();
  #receivedLargest = -1;
  #largestArrival = 0;
  #ackAt = Infinity;
  /** Acknowledgements under way: time, count of packets, delay that they report; then the packets. */
  readonly #acks = new Fifo();
  readonly #ackCounts = new Fifo();
  readonly #ackDelays = new Fifo();
  readonly #ackPackets = new Fifo();
  #next = 0;
  #oldest = 0;
  #largestAcked = -1;
  #lossAt = Infinity;
  #probeAt = Infinity;
  #probes = 0;
  #sendAt: number;
  #demandedUntil = 0;
  #backlog = 0;
  /** Bytes that have arrived. */
  arrived = 0;
  sent = 0;
  lost = 0;

  constructor(options: FlowOptions, path: Path) {
    this.options = options;
    this.#path = path;
    this.control = new SendControl(options.controller, MTU);
    this.#sendAt = options.startAt ?? 0;
    this.#demandedUntil = this.#sendAt;
  }

  get nextTime(): number {
    return Math.min(
      this.#arrivalTimes.first,
      this.#ackAt,
      this.#acks.first,
      this.#lossAt,
      this.#probeAt,
      this.#sendAt,
    );
  }

  run(now: number): void {
    while (this.#arrivalTimes.first <= now) this.#receive(this.#arrivalTimes.shift());
    if (this.#ackAt <= now) this.#sendAck(now);
    while (this.#acks.first <= now) this.#acknowledge(this.#acks.shift());
    if (this.#lossAt <= now) this.#detectLosses(now);
    if (this.#probeAt <= now) this.#probe(now);
    this.#sendMore(now);
  }

  #receive(at: number): void {
    const number = this.#arriving.shift();
    const gap = number !== this.#receivedLargest + 1;
    this.#receivedLargest = number;
    this.#largestArrival = at;
    this.arrived += MTU;
    this.#received.push(number);
    if (gap || this.#received.size >= ACK_EVERY) this.#sendAck(at);
    else this.#ackAt = at + ACK_DELAY;
  }

  #sendAck(now: number): void {
    this.#ackAt = Infinity;
    this.#ackCounts.push(this.#received.size);
    this.#ackDelays.push(now - this.#largestArrival);
    while (this.#received.size > 0) this.#ackPackets.push(this.#received.shift());
    this.#acks.push(now + this.options.rtt / 2);
  }

  #acknowledge(now: number): void {
    const { control } = this;
    const delay = this.#ackDelays.shift();
    control.beginAck(now);
    let newest = -1;
    for (let left = this.#ackCounts.shift(); left > 0; left--) {
      const number = this.#ackPackets.shift();
      const slot = number % CAPACITY;
      if (this.#state[slot] !== IN_FLIGHT) {
        control.onSpuriousLoss(now, this.#facts.sentAt(slot));
        continue;
      }
      this.#state[slot] = DONE;
      control.onAcked(this.#facts, slot);
      newest = Math.max(newest, number);
    }
    if (newest > this.#largestAcked) {
      this.#largestAcked = newest;
      control.onRtt(now - this.#facts.sentAt(newest % CAPACITY), delay);
    }
    this.#probes = 0;
    this.#detectLosses(now);
    control.finishAck();
    this.#setProbe(now);
    this.#path.options.onAck?.(now, this);
  }

  #detectLosses(now: number): void {
    const { control } = this;
    const { rtt } = control;
    this.#lossAt = Infinity;
    const allowed = TIME_THRESHOLD * Math.max(rtt.smoothed, rtt.latest, 1);
    while (this.#oldest < this.#next && this.#state[this.#oldest % CAPACITY] === DONE) {
      this.#oldest++;
    }
    for (let number = this.#oldest; number < this.#largestAcked; number++) {
      const slot = number % CAPACITY;
      if (this.#state[slot] !== IN_FLIGHT) continue;
      const dueAt = this.#facts.sentAt(slot) + allowed;
      if (number > this.#largestAcked - PACKET_THRESHOLD && dueAt > now) {
        this.#lossAt = dueAt;
        break;
      }
      this.#state[slot] = DONE;
      this.lost += MTU;
      this.#backlog += MTU;
      control.onLost(this.#facts, slot, now);
    }
  }

  #setProbe(now: number): void {
    const { rtt, inFlight } = this.control;
    const timeout = rtt.smoothed + Math.max(4 * rtt.variation, 1) + ACK_DELAY;
    this.#probeAt = inFlight > 0 ? now + timeout * 2 ** this.#probes : Infinity;
  }

  #probe(now: number): void {
    this.#probes++;
    this.#sendOne(now);
    this.#setProbe(now);
  }

  #sendMore(now: number): void {
    this.#sendAt = Infinity;
    if (now < (this.options.startAt ?? 0)) {
      this.#sendAt = this.options.startAt ?? 0;
      return;
    }
    if (now >= (this.options.stopAt ?? Infinity)) return;
    this.#fillBacklog(now);
    let sent = false;
    while (this.control.allowance(now) >= MTU) {
      if (this.#backlog < MTU) {
        this.control.onAppLimited();
        this.#sendAt = now + 5;
        break;
      }
      this.#sendOne(now);
      sent = true;
    }
    if (sent) this.#setProbe(now);
    if (this.#backlog < MTU) return;
    const due = this.control.nextSendTime(now);
    if (due !== Infinity) this.#sendAt = due + this.#path.random.fraction() * TIMER_LATENESS;
  }

  #fillBacklog(now: number): void {
    const { demand } = this.options;
    const rate = demand?.(now) ?? Infinity;
    if (rate === Infinity) this.#backlog = Infinity;
    else if (this.#backlog === Infinity) this.#backlog = 0;
    else this.#backlog += rate * (now - this.#demandedUntil);
    this.#demandedUntil = now;
  }

  #sendOne(now: number): void {
    const number = this.#next++;
    const slot = number % CAPACITY;
    this.#state[slot] = IN_FLIGHT;
    this.#backlog -= MTU;
    this.sent += MTU;
    this.control.onSent(this.#facts, slot, MTU, now);
    const leaves = this.#path.pass(now);
    if (leaves === undefined) return;
    this.#arriving.push(number);
    this.#arrivalTimes.push(leaves + this.options.rtt / 2);
  }
}

/** Flows over one bottleneck, in virtual time. */
export class Dumbbell {
  readonly path: Path;
  readonly flows: readonly Flow[];
  now = 0;

  constructor(path: PathOptions, flows: readonly FlowOptions[]) {
    this.path = new Path(path);
    this.flows = flows.map((flow) => new Flow(flow, this.path));
  }

  /** Runs until a time. */
  runUntil(end: number): void {
    for (;;) {
      let next = Infinity;
      for (const flow of this.flows) next = Math.min(next, flow.nextTime);
      if (next > end) break;
      this.now = next;
      for (const flow of this.flows) if (flow.nextTime <= next) flow.run(next);
    }
    this.now = end;
  }

  /** The bytes per ms of each flow that arrive in the next `duration` ms. */
  rates(duration: number): number[] {
    const before = this.flows.map(({ arrived }) => arrived);
    this.path.measure();
    this.runUntil(this.now + duration);
    return this.flows.map(({ arrived }, at) => (arrived - (before[at] ?? 0)) / duration);
  }
}

/** Bytes per ms of megabits per second. */
export const megabits = (rate: number): number => (rate * 1e6) / 8 / 1000;

/** Jain's index of fairness: 1 when all are equal, 1/n when one has everything. */
export function jain(rates: readonly number[]): number {
  const sum = rates.reduce((a, b) => a + b, 0);
  const squares = rates.reduce((a, b) => a + b * b, 0);
  return squares === 0 ? 0 : (sum * sum) / (rates.length * squares);
}
