import assert from 'node:assert/strict';
import type { QuicCore } from '../../../packages/quic/src/connection/quic-core.ts';
import { Space } from '../../../packages/quic/src/wire/packet-header.ts';
import type { SeenPacket } from './wire-tap.ts';

const MAX_ACK_DELAY = 25;
const GRANULARITY = 1;
/** As RFC 9002 §6.1 permits, thresholds rise with spurious losses: to what was seen, and by a quarter a round trip. */
const THRESHOLDS = { packets: 3, mostPackets: 300, time: 9 / 8, mostTime: 2, step: 1 / 4 };
/** Round trips with losses, none of them spurious, that reset them (RFC 8985 §6.2). */
const PERSISTENCE = 16;

interface Sent {
  readonly packet: SeenPacket;
  state: 'outstanding' | 'lost' | 'settled';
  lostAt: number;
}

interface SpaceState {
  readonly sent: Sent[];
  largestAcked: number;
  lossTime: number;
  lastElicitingAt: number;
  /** The packets before this one were looked at for losses. */
  watched: number;
  /** When the first of the losses in a row was sent, for persistent congestion. */
  runStart: number;
  isDiscarded: boolean;
}

const isOrdinary = ({ packet }: Sent): boolean => packet.inFlight && !packet.isMtuProbe;

/**
 * RFC 9002 as it is written, for one side of a connection: fed with the packets that it sends and the
 * acknowledgements that it processes, it says at every moment which packets are lost, what is in flight,
 * the round trip, and when a probe is due. Every packet is looked at every time.
 */
export class RecoveryOracle {
  readonly #connection: QuicCore;
  readonly #spaces: readonly SpaceState[] = [0, 1, 2].map(() => ({
    sent: [],
    largestAcked: -1,
    lossTime: Infinity,
    lastElicitingAt: 0,
    watched: 0,
    runStart: Infinity,
    isDiscarded: false,
  }));
  #lost = 0;
  #ptoCount = 0;
  #rtt = { latest: 0, minimum: 0, smoothed: 333, variation: 333 / 2, firstAt: Infinity };
  #packetThreshold = THRESHOLDS.packets;
  #timeThreshold = THRESHOLDS.time;
  #raisedAt = -Infinity;
  #lossRoundAt = -Infinity;
  #lossRounds = 0;
  #validated: boolean;

  constructor(connection: QuicCore) {
    this.#connection = connection;
    this.#validated = connection.role === 'server';
  }

  get #isConfirmed(): boolean {
    return this.#connection.state === 'confirmed';
  }

  get #interval(): number {
    const { smoothed, variation } = this.#rtt;
    return smoothed + Math.max(4 * variation, GRANULARITY);
  }

  /** PTO without backoff. */
  get probeTimeout(): number {
    return this.#interval + MAX_ACK_DELAY;
  }

  onSent(packet: SeenPacket): void {
    const state = this.#spaces[packet.space] ?? assert.fail();
    state.sent.push({ packet, state: 'outstanding', lostAt: 0 });
    if (packet.elicits) state.lastElicitingAt = packet.sentAt;
  }

  onDiscarded(space: Space): void {
    const state = this.#spaces[space] ?? assert.fail();
    if (state.isDiscarded) return;
    state.isDiscarded = true;
    state.sent.length = 0;
    state.watched = 0;
    state.lossTime = Infinity;
    this.#ptoCount = 0;
  }

  /** An ACK frame was processed. Returns what it newly acknowledges. @param delay in milliseconds. */
  onAck(
    space: Space,
    ranges: readonly (readonly [smallest: number, largest: number])[],
    delay: number,
    now: number,
  ): SeenPacket[] {
    const state = this.#spaces[space] ?? assert.fail();
    const largest = ranges[0]?.[1] ?? -1;
    const newly = state.sent.filter(
      (sent) =>
        sent.state !== 'settled' &&
        ranges.some(([from, to]) => sent.packet.number >= from && sent.packet.number <= to),
    );
    if (newly.length === 0) return [];
    const newest = Math.max(state.largestAcked, largest);
    for (const sent of newly) {
      if (sent.state === 'lost') {
        state.runStart = Infinity;
        if (isOrdinary(sent)) this.#onSpurious(newest - sent.packet.number, now);
      }
      sent.state = 'settled';
    }
    state.largestAcked = newest;
    const top = newly.find(({ packet }) => packet.number === largest);
    if (top && newly.some(({ packet }) => packet.elicits)) {
      this.#sample(now - top.packet.sentAt, this.#countedDelay(space, delay), now);
    }
    this.#detectLost(state, now);
    if (space === Space.HANDSHAKE || this.#isConfirmed) this.#validated = true;
    if (this.#validated) this.#ptoCount = 0;
    this.#forget(state, now - 2 * this.probeTimeout);
    return newly.map(({ packet }) => packet);
  }

  /** The connection's deadlines were handled. @param probed whether it has begun to probe. */
  onTimeout(now: number, probed: boolean): void {
    const [late] = this.#spaces.toSorted((one, other) => one.lossTime - other.lossTime);
    if (late && late.lossTime < Infinity) {
      assert.ok(!probed, 'a loss that is due comes before a probe');
      if (late.lossTime > now) return;
      this.#detectLost(late, now);
      this.#forget(late, now - 2 * this.probeTimeout);
      return;
    }
    if (this.#isConfirmed) {
      assert.equal(probed, this.#probeDeadline <= now, `a probe at ${now}, ${this.#probeDeadline}`);
    }
    if (probed) this.#ptoCount++;
  }

  /** What the connection says of itself has to be what follows from its packets. */
  check(now: number): void {
    if (this.#connection.closeReason !== undefined) return;
    const { packetsLost, inFlight, smoothedRtt, minimumRtt } = this.#connection.statistics();
    assert.equal(packetsLost, this.#lost, `packets lost at ${now}`);
    assert.equal(smoothedRtt, this.#rtt.smoothed, `the round trip at ${now}`);
    assert.equal(minimumRtt, this.#rtt.minimum);
    let outstanding = 0;
    for (const { sent } of this.#spaces) {
      for (const { packet, state } of sent) {
        if (state === 'outstanding' && packet.inFlight) outstanding += packet.bytes;
      }
    }
    assert.equal(inFlight, outstanding, `bytes in flight at ${now}`);
  }

  get #probeDeadline(): number {
    let earliest = Infinity;
    for (const [space, { sent, lastElicitingAt }] of this.#spaces.entries()) {
      if (!sent.some(({ packet, state }) => packet.elicits && state === 'outstanding')) continue;
      const delay = space === Space.APPLICATION ? MAX_ACK_DELAY : 0;
      earliest = Math.min(
        earliest,
        lastElicitingAt + (this.#interval + delay) * 2 ** this.#ptoCount,
      );
    }
    return earliest;
  }

  #countedDelay(space: Space, delay: number): number {
    if (space === Space.INITIAL) return 0;
    return this.#isConfirmed ? Math.min(delay, MAX_ACK_DELAY) : delay;
  }

  #sample(measured: number, delay: number, now: number): void {
    const rtt = this.#rtt;
    const sample = Math.max(measured, 0.001);
    rtt.latest = sample;
    if (rtt.firstAt === Infinity) {
      Object.assign(rtt, {
        firstAt: now,
        minimum: sample,
        smoothed: sample,
        variation: sample / 2,
      });
      return;
    }
    rtt.minimum = Math.min(rtt.minimum, sample);
    const adjusted = sample >= rtt.minimum + delay ? sample - delay : sample;
    rtt.variation = 0.75 * rtt.variation + 0.25 * Math.abs(rtt.smoothed - adjusted);
    rtt.smoothed = 0.875 * rtt.smoothed + 0.125 * adjusted;
  }

  #onSpurious(distance: number, now: number): void {
    this.#lossRounds = 0;
    const raised = Math.max(this.#packetThreshold, distance + 1);
    this.#packetThreshold = Math.min(raised, THRESHOLDS.mostPackets);
    if (now - this.#raisedAt < this.#rtt.smoothed) return;
    this.#raisedAt = now;
    this.#timeThreshold = Math.min(this.#timeThreshold + THRESHOLDS.step, THRESHOLDS.mostTime);
  }

  #resetThresholds(): void {
    this.#packetThreshold = THRESHOLDS.packets;
    this.#timeThreshold = THRESHOLDS.time;
    this.#lossRounds = 0;
  }

  #detectLost(state: SpaceState, now: number): void {
    const { latest, smoothed } = this.#rtt;
    const delay = Math.max(this.#timeThreshold * Math.max(latest, smoothed), GRANULARITY);
    state.lossTime = Infinity;
    let longest = 0;
    const newest = state.sent.findLastIndex(({ packet }) => packet.number <= state.largestAcked);
    for (; state.watched < newest; state.watched++) {
      const sent = state.sent[state.watched] ?? assert.fail();
      const { packet } = sent;
      if (sent.state === 'settled') state.runStart = Infinity;
      if (sent.state !== 'outstanding') continue;
      if (!packet.inFlight) {
        sent.state = 'settled';
        continue;
      }
      const later = newest - state.watched;
      // What was sent later is not lost before it.
      if (packet.sentAt + delay > now && later < this.#packetThreshold) {
        state.lossTime = packet.sentAt + delay;
        break;
      }
      sent.state = 'lost';
      sent.lostAt = now;
      this.#lost++;
      if (!isOrdinary(sent)) continue;
      if (packet.sentAt > this.#lossRoundAt) {
        this.#lossRoundAt = now;
        if (++this.#lossRounds >= PERSISTENCE) this.#resetThresholds();
      }
      if (!packet.elicits || packet.sentAt <= this.#rtt.firstAt) continue;
      state.runStart = Math.min(state.runStart, packet.sentAt);
      longest = Math.max(longest, packet.sentAt - state.runStart);
    }
    if (longest <= 3 * this.probeTimeout) return;
    state.runStart = Infinity;
    this.#rtt.minimum = latest;
    this.#resetThresholds();
  }

  /** Late acknowledgements of packets that were lost so long ago are not recognized. */
  #forget(state: SpaceState, lostBefore: number): void {
    for (const sent of state.sent) {
      if (sent.state === 'outstanding' || (sent.state === 'lost' && sent.lostAt > lostBefore))
        return;
      sent.state = 'settled';
    }
  }
}
