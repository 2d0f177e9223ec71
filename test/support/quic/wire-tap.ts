import assert from 'node:assert/strict';
import { initialKeys } from '../../../packages/quic/src/protection/initial-secrets.ts';
import { PacketOpener, TAG_SIZE } from '../../../packages/quic/src/protection/packet-keys.ts';
import {
  Space,
  keyPhaseOf,
  numberSizeOf,
  PacketHeader,
  PacketType,
  readPacketHeader,
} from '../../../packages/quic/src/wire/packet-header.ts';
import { FrameReader } from '../../../packages/quic/src/wire/frame-reader.ts';
import { frameRecorder, type FrameCall } from './frame-recorder.ts';
import type { OpenTls } from './open-tls.ts';

export type Side = 'client' | 'server';

export const otherSide = (side: Side): Side => (side === 'client' ? 'server' : 'client');

/** A packet as it left, in plaintext. */
export interface SeenPacket {
  readonly from: Side;
  readonly sentAt: number;
  readonly space: Space;
  readonly number: number;
  readonly bytes: number;
  /** The destination connection id, in hexadecimal. */
  readonly to: string;
  readonly phase: 0 | 1;
  readonly frames: readonly FrameCall[];
  readonly elicits: boolean;
  /** Whether it counts in flight (RFC 9002 §2). */
  readonly inFlight: boolean;
  /** Whether it searches for a larger MTU (RFC 9000 §14.4). */
  readonly isMtuProbe: boolean;
}

interface Keys {
  opener: PacketOpener;
  phase: 0 | 1;
  largest: number;
}

const SPACES = new Map<PacketType, readonly [Space, string]>([
  [PacketType.INITIAL, [Space.INITIAL, 'initial']],
  [PacketType.HANDSHAKE, [Space.HANDSHAKE, 'handshake']],
  [PacketType.ONE_RTT, [Space.APPLICATION, 'application']],
]);

/** Opens every packet that two sides send, with the secrets of their TLS. */
export class WireTap {
  readonly packets: SeenPacket[] = [];
  readonly #tls: Readonly<Record<Side, OpenTls>>;
  readonly #idSizes: Readonly<Record<Side, number>>;
  readonly #keys = new Map<string, Keys>();
  readonly #header = new PacketHeader();
  readonly #readers = { client: new FrameReader('server'), server: new FrameReader('client') };
  #initialId: Uint8Array | undefined;

  constructor(tls: Readonly<Record<Side, OpenTls>>, idSizes: Readonly<Record<Side, number>>) {
    this.#tls = tls;
    this.#idSizes = idSizes;
  }

  /** The packets of a datagram that leaves now. */
  see(datagram: Uint8Array, from: Side, now: number): SeenPacket[] {
    const bytes = Buffer.from(datagram);
    const header = this.#header;
    const seen: SeenPacket[] = [];
    for (let at = 0; at < bytes.length; at = header.end) {
      const idSize = this.#idSizes[otherSide(from)];
      assert.equal(readPacketHeader(bytes, at, bytes.length, idSize, header), undefined);
      seen.push(this.#packet(bytes, from, now));
    }
    this.packets.push(...seen);
    return seen;
  }

  /**
   * Frames of one side, as text: names and numbers, with the size in the place of bytes.
   * @param names of frames; all if there is none.
   * @param first of the packets to look at.
   */
  text(from: Side, names: readonly string[] = [], first = 0): string[] {
    return this.packets
      .slice(first)
      .filter((packet) => packet.from === from)
      .flatMap(({ frames }) => frames)
      .filter(([name]) => names.length === 0 || names.includes(name))
      .map((parts) => parts.map((part) => (Buffer.isBuffer(part) ? part.length : part)).join(' '));
  }

  #packet(bytes: Buffer, from: Side, sentAt: number): SeenPacket {
    const { start, end, type, numberOffset, destinationIdOffset, destinationIdSize } = this.#header;
    const to = bytes.subarray(destinationIdOffset, destinationIdOffset + destinationIdSize);
    if (type === PacketType.INITIAL) this.#initialId ??= Uint8Array.from(to);
    const [space, level] = SPACES.get(type) ?? assert.fail(`a packet of type ${type}`);
    const keys = this.#keysOf(from, level);
    const number = keys.opener.unprotect(bytes, start, numberOffset, end, keys.largest);
    const first = bytes[start] ?? 0;
    const phase = space === Space.APPLICATION ? keyPhaseOf(first) : 0;
    if (phase !== keys.phase) {
      keys.opener = keys.opener.next();
      keys.phase = phase;
    }
    assert.ok(keys.opener.open(bytes, start, numberOffset, end, number), 'a packet is authentic');
    assert.ok(number > keys.largest, `number ${number} after ${keys.largest}`);
    keys.largest = number;
    const frames: FrameCall[] = [];
    const reader = this.#readers[from];
    const payload = numberOffset + numberSizeOf(first);
    const framesType = type as 0 | 2 | 4;
    const limit = end - TAG_SIZE;
    assert.equal(
      reader.read(bytes, payload, limit, framesType, frameRecorder(frames)),
      undefined,
      'frames are well-formed',
    );
    const isPing = frames.length === 1 && frames[0]?.[0] === 'ping';
    return {
      from,
      sentAt,
      space,
      number,
      bytes: end - start,
      to: to.toString('hex'),
      phase,
      frames,
      elicits: reader.ackEliciting,
      // Datagrams are padded by far more than the zeros at the end of an ACK frame.
      inFlight:
        reader.ackEliciting ||
        (limit - 20 > payload && bytes.subarray(limit - 20, limit).every((byte) => byte === 0)),
      isMtuProbe: isPing && end - start > 1200,
    };
  }

  #keysOf(from: Side, level: string): Keys {
    const name = `${from} ${level}`;
    const known = this.#keys.get(name);
    if (known) return known;
    const keys: Keys = { opener: this.#openerOf(from, level), phase: 0, largest: -1 };
    this.#keys.set(name, keys);
    return keys;
  }

  #openerOf(from: Side, level: string): PacketOpener {
    if (level === 'initial') {
      const { opener, sealer } = initialKeys(this.#initialId ?? assert.fail(), otherSide(from));
      sealer[Symbol.dispose]();
      return opener;
    }
    const secret = this.#tls[from].secrets.get(`${level} write`);
    assert.ok(secret, `${from} has sent with keys that it has not`);
    return new PacketOpener(secret.suite, secret.bytes);
  }
}
