import assert from 'node:assert/strict';
import { RangeSet } from '@weir/base/bytes';
import type { QuicCore } from '../../../packages/quic/src/connection/quic-core.ts';
import { Space } from '../../../packages/quic/src/wire/packet-header.ts';
import {
  DEFAULT_STREAM_GRANTS,
  type StreamGrants,
} from '../../../packages/quic/src/streams/grants.ts';
import type { TraceEvent } from '../../../packages/quic/src/trace.ts';
import { RecoveryOracle } from './recovery-oracle.ts';
import { otherSide, type SeenPacket, type Side } from './wire-tap.ts';

const MAX_ACK_DELAY = 25;
const ACK_DELAY_EXPONENT = 3;

/** What one side has sent of a stream, and what it may. */
interface Sending {
  highest: number;
  limit: number;
  finalSize: number | undefined;
  isReset: boolean;
  readonly acknowledged: RangeSet;
}

interface Received {
  readonly numbers: Set<number>;
  largest: number;
  largestAt: number;
  /** When an acknowledgement is to be sent at the latest. */
  ackDue: number;
  eliciting: number;
}

/** One side, seen from the wire alone. */
class SideRules {
  readonly oracle: RecoveryOracle;
  /** Whether recovery is compared; not when the connection moves to another path. */
  isRecoveryKnown = true;
  readonly #side: Side;
  readonly #connection: QuicCore;
  readonly #received: readonly Received[] = [0, 1, 2].map(() => ({
    numbers: new Set<number>(),
    largest: -1,
    largestAt: 0,
    ackDue: Infinity,
    eliciting: 0,
  }));
  readonly #streams = new Map<number, Sending>();
  readonly #limits: Record<string, number>;
  readonly #peer: StreamGrants;
  #data = 0;
  /** Ids that it has issued and the peer has retired, by sequence number; and those that it has retired. */
  readonly #retired = new Set<string>();
  readonly #issuedByPeer = new Map<number, string>();

  constructor(side: Side, connection: QuicCore, peer: StreamGrants, window: number) {
    this.#side = side;
    this.#connection = connection;
    this.#peer = peer;
    this.oracle = new RecoveryOracle(connection);
    this.#limits = {
      data: window,
      true: peer.bidirectionalStreams,
      false: peer.unidirectionalStreams,
    };
  }

  onSent(packet: SeenPacket): void {
    assert.ok(!this.#retired.has(packet.to), 'a packet goes to an id that its sender has retired');
    this.oracle.onSent(packet);
    for (const [name, a, b, c, fin] of packet.frames) {
      if (name === 'stream') this.#onStream(a as number, b as number, c as Buffer, fin as boolean);
      else if (name === 'resetStream') this.#onReset(a as number, c as number);
      else if (name === 'retireConnectionId') {
        const id = this.#issuedByPeer.get(a as number);
        if (id !== undefined && id !== packet.to) this.#retired.add(id);
      } else if (name === 'dataBlocked') assert.equal(a, this.#limits['data']);
      else if (name === 'streamsBlocked') assert.equal(b, this.#limits[String(a)]);
      else if (name === 'streamDataBlocked') {
        const { limit, highest } = this.#stream(a as number);
        assert.deepEqual([b, highest], [limit, limit], `stream ${a as number} is blocked`);
      }
    }
    this.#onAckSent(packet);
  }

  /** The connection has processed a packet of its peer. */
  onProcessed(packet: SeenPacket, now: number): void {
    const received = this.#received[packet.space] ?? assert.fail();
    const { number } = packet;
    assert.ok(!received.numbers.has(number), `packet ${number} is processed once`);
    received.numbers.add(number);
    const isNext = number === received.largest + 1;
    if (number > received.largest) {
      received.largest = number;
      received.largestAt = now;
    }
    this.#apply(packet, now);
    if (!packet.elicits) return;
    received.eliciting++;
    const isUrgent = packet.space !== Space.APPLICATION || received.eliciting >= 2 || !isNext;
    received.ackDue = Math.min(received.ackDue, isUrgent ? now : now + MAX_ACK_DELAY);
  }

  hasReceived({ space, number }: SeenPacket): boolean {
    return this.#received[space]?.numbers.has(number) === true;
  }

  onTrace(event: TraceEvent): void {
    if (event.kind !== 'keys-discarded') return;
    this.oracle.onDiscarded(event.space);
    const received = this.#received[event.space];
    if (received) received.ackDue = Infinity;
  }

  /** Whatever was due before `now` has been sent. */
  check(now: number): void {
    if (this.#connection.state !== 'confirmed' || !this.isRecoveryKnown) return;
    const { ackDue } = this.#received[Space.APPLICATION] ?? assert.fail();
    assert.ok(ackDue > now, `${this.#side} should have acknowledged at ${ackDue}, it is ${now}`);
    this.oracle.check(now);
  }

  #stream(id: number): Sending {
    const known = this.#streams.get(id);
    if (known) return known;
    const stream: Sending = {
      highest: 0,
      limit: this.#peer.streamWindow,
      finalSize: undefined,
      isReset: false,
      acknowledged: new RangeSet(),
    };
    this.#streams.set(id, stream);
    return stream;
  }

  #mayUse(id: number): void {
    const opener = (id & 1) === 0 ? 'client' : 'server';
    const isBidirectional = (id & 2) === 0;
    if (opener !== this.#side) assert.ok(isBidirectional, `stream ${id} is of the peer`);
    else assert.ok(id >> 2 < (this.#limits[String(isBidirectional)] ?? 0), `stream ${id} (§4.6)`);
  }

  #onStream(id: number, offset: number, data: Buffer, fin: boolean): void {
    const stream = this.#stream(id);
    this.#mayUse(id);
    const end = offset + data.length;
    assert.ok(!stream.isReset, `STREAM of ${id} after its RESET_STREAM (§3.1)`);
    if (stream.finalSize !== undefined) assert.ok(end <= stream.finalSize, 'no data after the end');
    if (fin) {
      assert.equal(end, stream.finalSize ?? end, 'the end of a stream stays');
      assert.ok(end >= stream.highest);
      stream.finalSize = end;
    }
    const isKnown = data.length > 0 && stream.acknowledged.has(offset, end);
    assert.ok(!isKnown, `bytes ${offset} to ${end} of ${id} that were acknowledged are sent again`);
    this.#extend(stream, end);
    assert.ok(
      end <= stream.limit,
      `${end} of stream ${id} beyond its limit ${stream.limit} (§4.1)`,
    );
  }

  #onReset(id: number, finalSize: number): void {
    const stream = this.#stream(id);
    this.#mayUse(id);
    assert.equal(finalSize, stream.finalSize ?? stream.highest, 'the final size of a reset (§4.5)');
    stream.finalSize = finalSize;
    stream.isReset = true;
  }

  #extend(stream: Sending, end: number): void {
    if (end <= stream.highest) return;
    this.#data += end - stream.highest;
    stream.highest = end;
    const limit = this.#limits['data'] ?? 0;
    assert.ok(this.#data <= limit, `${this.#data} of all streams beyond ${limit} (§4.1)`);
  }

  /** ACK frames name what has arrived, the newest first, and say how long ago that was (§13.2, §19.3). */
  #onAckSent({ frames, space, sentAt }: SeenPacket): void {
    const received = this.#received[space] ?? assert.fail();
    for (const [name, a, b] of frames) {
      if (name === 'ackStart') {
        assert.equal(a, received.largest, 'the newest packet is acknowledged');
        const delay = Math.floor(((sentAt - received.largestAt) * 1000) / 2 ** ACK_DELAY_EXPONENT);
        assert.equal(b, delay, 'the delay of an acknowledgement');
        received.ackDue = Infinity;
        received.eliciting = 0;
      } else if (name === 'ackRange') {
        for (let n = a as number; n <= (b as number); n++) {
          assert.ok(received.numbers.has(n), `packet ${n} has never arrived`);
        }
      }
    }
  }

  #apply({ frames, space }: SeenPacket, now: number): void {
    let ack: { delay: number; ranges: (readonly [number, number])[] } | undefined;
    for (const [name, a, b, c] of frames) {
      if (name === 'ackStart') {
        ack = { delay: ((b as number) * 2 ** ACK_DELAY_EXPONENT) / 1000, ranges: [] };
      } else if (name === 'ackRange') ack?.ranges.push([a as number, b as number]);
      else if (name === 'ackEnd' && ack) this.#onAck(space, ack.ranges, ack.delay, now);
      else if (name === 'maxData') this.#raise('data', a as number);
      else if (name === 'maxStreams') this.#raise(String(a), b as number);
      else if (name === 'maxStreamData') {
        const stream = this.#stream(a as number);
        stream.limit = Math.max(stream.limit, b as number);
      } else if (name === 'newConnectionId') {
        this.#issuedByPeer.set(a as number, (c as Buffer).toString('hex'));
      }
    }
  }

  #raise(name: string, limit: number): void {
    this.#limits[name] = Math.max(this.#limits[name] ?? 0, limit);
  }

  #onAck(
    space: Space,
    ranges: readonly (readonly [number, number])[],
    delay: number,
    now: number,
  ): void {
    if (!this.isRecoveryKnown) return;
    for (const packet of this.oracle.onAck(space, ranges, delay, now)) {
      for (const [name, id, offset, data] of packet.frames) {
        if (name !== 'stream') continue;
        const start = offset as number;
        this.#stream(id as number).acknowledged.add(start, start + (data as Buffer).length);
      }
    }
  }
}

/**
 * What has to hold for two connections at every moment, from what they send and receive: RFC 9000's limits,
 * ends and acknowledgements, and RFC 9002's recovery.
 */
export class WireRules {
  readonly #sides: Readonly<Record<Side, SideRules>>;

  constructor(
    connections: Readonly<Record<Side, QuicCore>>,
    grants: Readonly<Record<Side, StreamGrants | undefined>>,
    clientWindow: number,
  ) {
    const of = (side: Side): SideRules => {
      const peer = grants[otherSide(side)] ?? DEFAULT_STREAM_GRANTS;
      const window = side === 'client' ? clientWindow : peer.connectionWindow;
      return new SideRules(side, connections[side], peer, window);
    };
    this.#sides = { client: of('client'), server: of('server') };
  }

  onSent(packet: SeenPacket): void {
    this.#sides[packet.from].onSent(packet);
  }

  onProcessed(packet: SeenPacket, now: number): void {
    this.#sides[otherSide(packet.from)].onProcessed(packet, now);
  }

  hasReceived(packet: SeenPacket): boolean {
    return this.#sides[otherSide(packet.from)].hasReceived(packet);
  }

  onTrace(side: Side, event: TraceEvent): void {
    this.#sides[side].onTrace(event);
  }

  onTimeout(side: Side, now: number, probed: boolean): void {
    if (this.#sides[side].isRecoveryKnown) this.#sides[side].oracle.onTimeout(now, probed);
  }

  /** A side moves to another path: recovery begins anew there, and is not compared any more. */
  forgetRecovery(): void {
    for (const side of Object.values(this.#sides)) side.isRecoveryKnown = false;
  }

  check(now: number): void {
    for (const side of Object.values(this.#sides)) side.check(now);
  }
}
