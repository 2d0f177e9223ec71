/**
 * What protecting QUIC packets costs: packets a second of processor time, sealed and opened with
 * header protection, in the batches that the stack uses.
 *
 *     node packages/quic/bench/quic-packets.ts
 *     WEIR_CRYPTO=baseline node packages/quic/bench/quic-packets.ts
 *
 * Processor time and the best of several rounds, so that other work on the machine matters little.
 */
import { packetCiphers } from '@weir/crypto/aead/packet-ciphers';
import { CipherSuite, PacketOpener, PacketSealer } from '../src/protection/packet-keys.ts';
import { FrameReader } from '../src/wire/frame-reader.ts';
import type { FrameVisitor } from '../src/wire/frame-types.ts';
import { writeStreamHeader } from '../src/wire/frame-writers.ts';
import { PacketType, writeShortHeader, writePacketNumber } from '../src/wire/packet-header.ts';

const SIZE = 1350;
const BATCH = 40;
const ROUNDS = 40;
const BATCHES = 250;

const ID = new Uint8Array(8).fill(3);
const NUMBER_AT = 1 + ID.length;
const TAG = 16;

/** Nanoseconds of processor time for each packet, the best of all rounds. */
function measure(run: (first: number) => void): number {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.cpuUsage();
    for (let i = 0; i < BATCHES; i++) run((round * BATCHES + i) * BATCH);
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, ((user + system) * 1000) / (BATCHES * BATCH));
  }
  return best;
}

const quiet: FrameVisitor = {
  streams: {
    resetStream: () => undefined,
    stopSending: () => undefined,
    stream: () => undefined,
    maxData: () => undefined,
    maxStreamData: () => undefined,
    maxStreams: () => undefined,
    dataBlocked: () => undefined,
    streamDataBlocked: () => undefined,
    streamsBlocked: () => undefined,
  },
  ping: () => undefined,
  ackStart: () => undefined,
  ackRange: () => undefined,
  ackEnd: () => undefined,
  crypto: () => undefined,
  newToken: () => undefined,
  newConnectionId: () => undefined,
  retireConnectionId: () => undefined,
  pathChallenge: () => undefined,
  pathResponse: () => undefined,
  connectionClose: () => undefined,
  applicationClose: () => undefined,
  handshakeDone: () => undefined,
  datagram: () => undefined,
};

const rows = Object.entries(CipherSuite).map(([name, suite]) => {
  const secret = new Uint8Array(suite === CipherSuite.AES_256_GCM_SHA384 ? 48 : 32).fill(1);
  using sealer = new PacketSealer(suite, secret);
  using opener = new PacketOpener(suite, secret);
  const reader = new FrameReader('client');
  const arena = new Uint8Array(BATCH * SIZE);
  const received = new Uint8Array(BATCH * SIZE);

  const seal = (first: number): void => {
    for (let i = 0; i < BATCH; i++) {
      const start = i * SIZE;
      const numberAt = writeShortHeader(arena, start, 2, 0, ID);
      const plainAt = writePacketNumber(arena, numberAt, first + i, 2);
      writeStreamHeader(arena, plainAt, 0, first * 1000, -1, false);
      sealer.seal(arena, start, numberAt, 2, start + SIZE - TAG, first + i);
    }
    sealer.protectHeaders();
  };
  const copy = (): void => received.set(arena);
  const open = (first: number): void => {
    copy();
    opener.prepareMasks(received, NUMBER_AT, SIZE, received.length);
    for (let i = 0; i < BATCH; i++) {
      const start = i * SIZE;
      const end = start + SIZE;
      const number = opener.unprotect(received, start, start + NUMBER_AT, end, first + i - 1, i);
      if (!opener.open(received, start, start + NUMBER_AT, end, number)) throw new Error('forged');
      reader.read(received, start + NUMBER_AT + 2, end - TAG, PacketType.ONE_RTT, quiet);
    }
  };
  const sealed = measure(seal);
  // The same batch again and again: the one that was sealed first of all rounds.
  seal(0);
  const copied = measure(copy);
  const opened = measure(() => open(0)) - copied;
  const perSecond = (nanoseconds: number): string => Math.round(1e9 / nanoseconds).toLocaleString();
  return {
    suite: name,
    'seal ns': Math.round(sealed),
    'seals/s': perSecond(sealed),
    'open ns': Math.round(opened),
    'opens/s': perSecond(opened),
  };
});
console.log(`packets of ${SIZE} bytes in batches of ${BATCH}, ${packetCiphers().name}`);
console.table(rows);
