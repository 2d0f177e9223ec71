import {
  type CipherSuite,
  PacketSealer,
} from '../../../packages/quic/src/protection/packet-keys.ts';
import { initialKeys } from '../../../packages/quic/src/protection/initial-secrets.ts';
import {
  PacketType,
  writeLength,
  writeLongHeader,
  writeShortHeader,
  writePacketNumber,
} from '../../../packages/quic/src/wire/packet-header.ts';

const NUMBER_SIZE = 4;
const LARGEST = 65_507;

/** What is different in a server's packet: `keyId` is the destination id of the client's first one. */
export interface ServerInitial {
  readonly keyId: Uint8Array;
  readonly token: Uint8Array;
}

/** An Initial packet of a client, or of a server, with these frames, correctly sealed. */
export function forgeInitial(
  destinationId: Uint8Array,
  sourceId: Uint8Array,
  number: number,
  frames: Uint8Array,
  server?: ServerInitial,
): Uint8Array {
  const { sealer, opener } = server
    ? initialKeys(server.keyId, 'server')
    : initialKeys(destinationId, 'client');
  using _ = opener;
  using keys = sealer;
  const out = Buffer.alloc(LARGEST);
  const numberAt = writeLongHeader(
    out,
    0,
    PacketType.INITIAL,
    NUMBER_SIZE,
    destinationId,
    sourceId,
    server?.token ?? new Uint8Array(0),
  );
  const at = writePacketNumber(out, numberAt, number, NUMBER_SIZE);
  out.set(frames, at);
  const end = at + frames.length;
  writeLength(out, numberAt, end + 16);
  const size = keys.seal(out, 0, numberAt, NUMBER_SIZE, end, number);
  keys.protectHeaders();
  return out.subarray(0, size);
}

/** Seals 1-RTT packets with arbitrary frames: the pen of a hostile peer. */
export class OneRttForger implements Disposable {
  #keys: PacketSealer;
  #phase: 0 | 1 = 0;
  readonly #destinationId: Uint8Array;
  #number: number;

  /** @param number of the first packet. */
  constructor(suite: CipherSuite, secret: Uint8Array, destinationId: Uint8Array, number: number) {
    this.#keys = new PacketSealer(suite, secret);
    this.#destinationId = destinationId;
    this.#number = number;
  }

  /** @param reserved bits of the first byte to set. */
  seal(frames: Uint8Array, reserved = 0): Uint8Array {
    const out = Buffer.alloc(frames.length + 64);
    const number = this.#number++;
    const numberAt = writeShortHeader(out, 0, NUMBER_SIZE, this.#phase, this.#destinationId);
    out[0] = (out[0] ?? 0) | reserved;
    const at = writePacketNumber(out, numberAt, number, NUMBER_SIZE);
    out.set(frames, at);
    const size = this.#keys.seal(out, 0, numberAt, NUMBER_SIZE, at + frames.length, number);
    this.#keys.protectHeaders();
    return out.subarray(0, size);
  }

  /** Leaves out so many packet numbers. */
  skip(count = 1): void {
    this.#number += count;
  }

  /** Uses the next keys from now on. */
  updateKeys(): void {
    this.#keys = this.#keys.next();
    this.#phase = this.#phase === 0 ? 1 : 0;
  }

  [Symbol.dispose](): void {
    this.#keys[Symbol.dispose]();
  }
}
