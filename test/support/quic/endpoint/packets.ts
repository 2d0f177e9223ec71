import { initialKeys } from '../../../../packages/quic/src/protection/initial-secrets.ts';
import { TAG_SIZE } from '../../../../packages/quic/src/protection/packet-keys.ts';
import {
  PacketType,
  writeLength,
  writeLongHeader,
  writePacketNumber,
} from '../../../../packages/quic/src/wire/packet-header.ts';

const NUMBER_SIZE = 2;

/** What a test writes into an Initial packet of a client. */
export interface InitialOptions {
  readonly destinationId: Uint8Array;
  readonly sourceId?: Uint8Array;
  readonly token?: Uint8Array;
  /** Bytes of the datagram. */
  readonly size?: number;
}

/** An Initial packet of a client with PING and PADDING: authentic, and nothing else. */
export function clientInitial({
  destinationId,
  sourceId = new Uint8Array(8).fill(0xcc),
  token = new Uint8Array(0),
  size = 1200,
}: InitialOptions): Buffer {
  const datagram = Buffer.alloc(size);
  const numberAt = writeLongHeader(
    datagram,
    0,
    PacketType.INITIAL,
    NUMBER_SIZE,
    destinationId,
    sourceId,
    token,
  );
  const payloadAt = writePacketNumber(datagram, numberAt, 0, NUMBER_SIZE);
  datagram[payloadAt] = 0x01; // PING; what follows is PADDING
  writeLength(datagram, numberAt, size);
  const keys = initialKeys(destinationId, 'client');
  using sealer = keys.sealer;
  keys.opener[Symbol.dispose]();
  sealer.seal(datagram, 0, numberAt, NUMBER_SIZE, size - TAG_SIZE, 0);
  sealer.protectHeaders();
  return datagram;
}

/** A packet with a short header: an id, and bytes that no key opens. */
export function shortPacket(destinationId: Uint8Array, size = 100): Buffer {
  const datagram = Buffer.alloc(size, 0x5a);
  datagram[0] = 0x40;
  datagram.set(destinationId, 1);
  return datagram;
}
