import { TcpFlag, TcpSegment } from '../../../../packages/netstack/src/wire/tcp.ts';
import type { SegmentOutput } from '../../../../packages/netstack/src/tcp/segment-output.ts';

/** A segment as tests write it; numbers as on the wire. */
export interface Segment {
  /** S, F, R, P, and '.' for ACK, as packetdrill writes them. */
  readonly flags: string;
  readonly sequence: number;
  readonly acknowledgment: number;
  readonly window: number;
  readonly payload: Uint8Array;
  readonly mss?: number;
  readonly windowScale?: number;
  readonly sackPermitted?: boolean;
  readonly timestamp?: number;
  readonly timestampEcho?: number;
  readonly sack?: readonly (readonly [number, number])[];
  readonly segmentSize?: number;
}

const LETTERS: readonly (readonly [string, number])[] = [
  ['S', TcpFlag.SYN],
  ['F', TcpFlag.FIN],
  ['R', TcpFlag.RST],
  ['P', TcpFlag.PSH],
  ['U', TcpFlag.URG],
  ['.', TcpFlag.ACK],
];

const bitsOf = (flags: string): number =>
  LETTERS.reduce((bits, [letter, bit]) => (flags.includes(letter) ? bits | bit : bits), 0);

const lettersOf = (bits: number): string =>
  LETTERS.filter(([, bit]) => (bits & bit) !== 0)
    .map(([letter]) => letter)
    .join('');

/** The record that a connection takes. */
export function toRecord(from: Segment): TcpSegment {
  const record = new TcpSegment();
  record.sequence = from.sequence >>> 0;
  record.acknowledgment = from.acknowledgment >>> 0;
  record.flags = bitsOf(from.flags);
  record.window = from.window;
  record.mss = from.mss ?? 0;
  record.windowScale = from.windowScale ?? -1;
  record.sackPermitted = from.sackPermitted ?? false;
  record.hasTimestamps = from.timestamp !== undefined;
  record.timestamp = from.timestamp ?? 0;
  record.timestampEcho = from.timestampEcho ?? 0;
  for (const [index, [left, right]] of (from.sack ?? []).entries()) {
    record.sackBlocks[2 * index] = left;
    record.sackBlocks[2 * index + 1] = right;
  }
  record.sackCount = from.sack?.length ?? 0;
  // In the middle of something else, as in a read buffer.
  record.bytes = Buffer.concat([Buffer.alloc(40, 0xee), from.payload, Buffer.alloc(8, 0xee)]);
  record.payload = 40;
  record.payloadEnd = 40 + from.payload.length;
  return record;
}

/** Keeps what a connection sends. */
export class Capture implements SegmentOutput {
  readonly segment = new TcpSegment();
  readonly buffer = new Uint8Array(70_000);
  readonly sent: Segment[] = [];
  /** Segments that there is room for. */
  room = Infinity;
  #at = 0;
  #size = 0;

  begin(payloadBytes: number): number {
    if (this.room <= 0) return -1;
    this.#at = (this.#at + 100) % 1000;
    this.#size = payloadBytes;
    return this.#at;
  }

  end(segmentSize: number): void {
    const { segment } = this;
    this.room--;
    this.sent.push({
      flags: lettersOf(segment.flags),
      sequence: segment.sequence,
      acknowledgment: segment.acknowledgment,
      window: segment.window,
      payload: this.buffer.slice(this.#at, this.#at + this.#size),
      ...(segment.mss > 0 && { mss: segment.mss }),
      ...(segment.windowScale >= 0 && { windowScale: segment.windowScale }),
      ...(segment.sackPermitted && { sackPermitted: true }),
      ...(segment.hasTimestamps && {
        timestamp: segment.timestamp,
        timestampEcho: segment.timestampEcho,
      }),
      ...(segment.sackCount > 0 && {
        sack: Array.from({ length: segment.sackCount }, (_, index): [number, number] => [
          segment.sackBlocks[2 * index] ?? 0,
          segment.sackBlocks[2 * index + 1] ?? 0,
        ]),
      }),
      ...(segmentSize > 0 && { segmentSize }),
    });
  }

  take(): Segment[] {
    return this.sent.splice(0);
  }
}
