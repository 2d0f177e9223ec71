import assert from 'node:assert/strict';
import { NewReno } from '../../../src/congestion/new-reno.ts';
import { SendControl } from '../../../src/congestion/send-control.ts';
import type { QuicError } from '../../../src/quic/errors.ts';
import type { DeliveryListener } from '../../../src/quic/recovery/delivery.ts';
import { LossDetection, type PacketSizes } from '../../../src/quic/recovery/loss-detection.ts';
import { Space } from '../../../src/quic/recovery/space.ts';
import { SeededRandom } from '../simnet/seeded-random.ts';

/** Bytes of every packet. */
export const PACKET = 1000;

/** Writes down what becomes of frames, each recorded with the number of its packet, and of MTU probes. */
export class Recorder implements DeliveryListener {
  readonly events: string[] = [];
  readonly sizes: PacketSizes = {
    onProbeAcknowledged: (bytes) => void this.events.push(`acknowledged probe of ${bytes}`),
    onProbeLost: (bytes) => void this.events.push(`lost probe of ${bytes}`),
    onAcknowledged: () => undefined,
    onLost: () => undefined,
  };

  /** What was written down since the last call. */
  take(): string[] {
    return this.events.splice(0);
  }

  onAcknowledged(a: number, b: number, c: number): void {
    this.events.push(`acknowledged ${[a, b, c].join(' ').replace(/( 0)+$/, '')}`);
  }

  onLost(a: number, b: number, c: number): void {
    this.events.push(`lost ${[a, b, c].join(' ').replace(/( 0)+$/, '')}`);
  }
}

interface SendOptions {
  readonly space?: Space;
  readonly ackEliciting?: boolean;
  readonly inFlight?: boolean;
  readonly ect0?: boolean;
  readonly mtuProbe?: boolean;
  readonly offPath?: boolean;
  readonly bytes?: number;
}

/** A random source with which no packet number is skipped. */
class NoSkipping extends SeededRandom {
  override below(): number {
    return 2 ** 52;
  }
}

/** Loss recovery driven by hand, in virtual time. Each ack-eliciting packet has a frame with its number. */
export class RecoveryRig {
  readonly recorder = new Recorder();
  readonly control = newControl();
  readonly loss: LossDetection;
  now = 1000;

  constructor(
    role: 'client' | 'server' = 'server',
    { confirmed = true, skips = false, sizes = undefined as PacketSizes | undefined } = {},
  ) {
    const random = skips ? new SeededRandom(1) : new NoSkipping(1);
    const { control, recorder } = this;
    this.loss = new LossDetection({ role, random, control, sizes: sizes ?? recorder.sizes });
    if (!confirmed) return;
    this.loss.onHandshakeKeys(this.now);
    this.loss.discard(Space.INITIAL, this.now);
    this.loss.discard(Space.HANDSHAKE, this.now);
    this.loss.onHandshakeConfirmed(this.now);
  }

  /** Sends a packet; returns its number. */
  send(options: SendOptions = {}): number {
    const { space = Space.APPLICATION, ackEliciting = true, inFlight = ackEliciting } = options;
    const { ect0 = false, mtuProbe = false, offPath = false, bytes = PACKET } = options;
    const number = this.loss.nextNumber(space);
    if (ackEliciting && !mtuProbe) this.loss.frames(space).add(this.recorder, number);
    const packet = { number, bytes, ackEliciting, inFlight, ect0, mtuProbe, offPath };
    this.loss.onSent(space, packet, this.now);
    return number;
  }

  sendMany(count: number, options: SendOptions = {}): void {
    for (let i = 0; i < count; i++) this.send(options);
  }

  /** An ACK frame with these ranges, the newest first, that the peer delayed by so many milliseconds. */
  tryAck(
    ranges: readonly (readonly [smallest: number, largest: number])[],
    {
      space = Space.APPLICATION,
      delay = 0,
      ecn,
    }: { space?: Space; delay?: number; ecn?: Counts } = {},
  ): QuicError | undefined {
    const { loss } = this;
    let error = loss.ackStart(space, ranges[0]?.[1] ?? 0, (delay * 1000) / 8, this.now);
    for (const [smallest, largest] of ranges) error ??= loss.ackRange(smallest, largest);
    const { ect0 = 0, ect1 = 0, ce = 0 } = ecn ?? {};
    return error ?? loss.ackEnd(ecn !== undefined, ect0, ect1, ce);
  }

  /** The same, which has to be accepted; numbers stand for ranges of one. */
  ack(
    ranges: readonly (number | readonly [number, number])[],
    options: { space?: Space; delay?: number; ecn?: Counts } = {},
  ): string[] {
    const pairs = ranges.map((range) =>
      typeof range === 'number' ? ([range, range] as const) : range,
    );
    assert.equal(this.tryAck(pairs, options), undefined);
    return this.recorder.take();
  }

  /** Lets time pass up to the deadline, and has it handled. */
  expire(): string[] {
    assert.notEqual(this.loss.timeout, Infinity);
    this.now = Math.max(this.now, this.loss.timeout);
    this.loss.onTimeout(this.now);
    return this.recorder.take();
  }
}

export interface Counts {
  readonly ect0?: number;
  readonly ect1?: number;
  readonly ce?: number;
}

export const newControl = (): SendControl => new SendControl(new NewReno(PACKET), PACKET);
