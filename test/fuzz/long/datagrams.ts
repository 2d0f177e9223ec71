import assert from 'node:assert/strict';
import { X25519PrivateKey } from '@weir/crypto/x25519';
import { encodeQuery, readReply } from '../../../packages/proxy/src/dns/message.ts';
import { followAliases } from '../../../packages/proxy/src/dns/wire-backend.ts';
import { NameReader } from '../../../packages/proxy/src/dns/names.ts';
import { hostNameOf, readQuery } from '../../../packages/proxy/src/dns/responder.ts';
import {
  readAcknowledgement,
  readAttributes,
  readMessages,
} from '../../../packages/io/src/platform/netlink/netlink-socket.ts';
import { MacReader } from '../../../packages/proxy/src/protocols/wireguard/handshake/cookies.ts';
import {
  createStaticKeys,
  Initiator,
  Responder,
} from '../../../packages/proxy/src/protocols/wireguard/handshake/noise.ts';
import {
  DATA_OVERHEAD,
  MessageType,
  messageType,
} from '../../../packages/proxy/src/protocols/wireguard/wire.ts';
import { QuicError, TransportErrorCode } from '../../../packages/quic/src/errors.ts';
import { AddressTokens } from '../../../packages/quic/src/protection/tokens.ts';
import { FrameReader } from '../../../packages/quic/src/wire/frame-reader.ts';
import type {
  FramesPacketType,
  FrameVisitor,
} from '../../../packages/quic/src/wire/frame-types.ts';
import {
  offersVersion,
  PacketHeader,
  readPacketHeader,
} from '../../../packages/quic/src/wire/packet-header.ts';
import {
  decodeTransportParameters,
  encodeTransportParameters,
} from '../../../packages/quic/src/wire/transport-parameters.ts';
import { CLIENT4 } from '../../support/data/ip-packets.ts';
import { Hostile } from '../../support/quic/hostile.ts';
import { KnownRandom } from '../../support/known-random.ts';
import { type FuzzTarget, hex } from './target.ts';

const QUIC_CODES = new Set<number>(Object.values(TransportErrorCode));

let frameCalls = 0;

/** Accepts a frame; numbers have to be exact, and byte ranges to lie in the packet. */
function accept(...parts: readonly (number | boolean | Uint8Array)[]): undefined {
  frameCalls++;
  assert.ok(parts.every((part) => typeof part !== 'number' || Number.isSafeInteger(part)));
  const at = parts.findIndex((part) => part instanceof Uint8Array);
  if (at < 0) return;
  const bytes = parts[at] as Uint8Array;
  const start = parts[at + 1] as number;
  assert.ok(start >= 0 && start <= bytes.length);
}

const STREAMS = new Proxy({} as FrameVisitor['streams'], { get: () => accept });
const VISITOR = new Proxy({} as FrameVisitor, {
  get: (_, name) => (name === 'streams' ? STREAMS : accept),
});

/** One of each frame of RFC 9000 §19, and DATAGRAM of RFC 9221. */
const FRAMES = [
  hex('00 01'),
  hex('02 05 00 01 00 00 01'),
  hex('03 4010 19 00 03 01 02 03'),
  hex('04 04 01 4400'),
  hex('05 00 02'),
  hex('06 00 03 616263'),
  hex('07 02 7879'),
  hex('0e 00 04 03 616263 0b 00 02 6162'),
  hex('08 04 616263'),
  hex('10 8000ffff 11 00 8000ffff 12 10 13 10'),
  hex('14 10 15 00 10 16 10 17 10'),
  hex(`18 01 00 08 0102030405060708 ${'ab'.repeat(16)}`),
  hex('19 00 1a 0102030405060708 1b 0102030405060708'),
  hex('1c 0a 06 02 6869 1d 4100 00 1e'),
  hex('31 02 6869 30 6869'),
];

const quicFrames: FuzzTarget = {
  name: 'quic-frames',
  files: ['quic/wire/frame-reader.ts', 'quic/wire/varint.ts'],
  samples: FRAMES,
  share: 1,
  run: (input, random) => {
    const packets = [0, 1, 2, 4] as const satisfies readonly FramesPacketType[];
    const reader = new FrameReader(random.chance(0.5) ? 'client' : 'server');
    const packet = packets[random.below(packets.length)] ?? 4;
    frameCalls = 0;
    const error = reader.read(input, 0, input.length, packet, VISITOR);
    assert.ok(frameCalls <= 2 * input.length + 3);
    assert.ok(error === undefined || QUIC_CODES.has(error.code));
  },
};

const quicHeaders: FuzzTarget = {
  name: 'quic-headers',
  files: ['quic/wire/packet-header.ts'],
  samples: [
    hex('c3 00000001 08 8394c8f03e515708 00 00 449e 00000002 0102030405060708090a0b0c0d0e0f10'),
    hex('e3 00000001 08 8394c8f03e515708 04 01020304 4020 0001020304'),
    hex('f0 00000001 00 04 01020304 746f6b656e 000102030405060708090a0b0c0d0e0f'),
    hex('80 00000000 04 01020304 04 05060708 00000001 6b3343cf'),
    hex('43 8394c8f03e515708 01020304 05060708'),
  ],
  share: 1,
  run: (input, random) => {
    const header = new PacketHeader();
    if (readPacketHeader(input, 0, input.length, random.below(21), header) !== undefined) return;
    assert.ok(header.numberOffset <= header.end && header.end > 0 && header.end <= input.length);
    for (const [at, size] of [
      [header.destinationIdOffset, header.destinationIdSize],
      [header.sourceIdOffset, header.sourceIdSize],
      [header.tokenOffset, header.tokenSize],
    ] as const) {
      assert.ok(at >= 0 && at + size <= input.length);
    }
    offersVersion(input, header, 1);
  },
};

const quicParameters: FuzzTarget = {
  name: 'quic-transport-parameters',
  files: ['quic/wire/transport-parameters.ts', 'quic/wire/varint.ts'],
  samples: [
    encodeTransportParameters({
      initialSourceConnectionId: Buffer.alloc(8, 1),
      maxIdleTimeout: 30_000,
      initialMaxData: 1 << 20,
      initialMaxStreamsBidi: 100,
      maxDatagramFrameSize: 1200,
    }),
    hex('0f 04 01020304 00 04 01020304 02 10 000102030405060708090a0b0c0d0e0f 0c 00'),
  ],
  share: 1,
  run: (input, random) => {
    const found = decodeTransportParameters(input, random.chance(0.5) ? 'client' : 'server');
    assert.ok(
      !(found instanceof QuicError) || found.code === TransportErrorCode.TRANSPORT_PARAMETER_ERROR,
    );
  },
};

const tokens = new AddressTokens(new KnownRandom());
const ADDRESS = Buffer.of(192, 0, 2, 1);
const TOKENS = [
  tokens.newToken(ADDRESS, 1000),
  tokens.retryToken(ADDRESS, 4000, Buffer.alloc(8, 1), Buffer.alloc(8, 2), 1000),
];

const quicTokens: FuzzTarget = {
  name: 'quic-tokens',
  files: ['quic/protection/tokens.ts'],
  samples: TOKENS,
  share: 0.2,
  run: (input, random) => {
    const found = tokens.open(input, 0, input.length, ADDRESS, 4000, random.below(10_000));
    assert.ok(found === undefined || TOKENS.some((token) => input.equals(token)));
  },
};

let hostile: Hostile | undefined;

const quicConnection: FuzzTarget = {
  name: 'quic-connection',
  files: ['quic/packets/frame-handler.ts', 'quic/packets/packet-receiver.ts'],
  samples: FRAMES,
  share: 0.01,
  longest: 1000,
  // A connection takes inputs until it is closed for one.
  run: (input, random) => {
    if (!hostile || hostile.victim.connection.closeReason !== undefined || random.chance(0.02)) {
      hostile = new Hostile(random.chance(0.5) ? 'client' : 'server');
    }
    hostile.send(input);
    const { code } = hostile;
    assert.ok(code === undefined || QUIC_CODES.has(code) || (code >= 0x100 && code < 0x200));
  },
};

const QUESTION = { name: 'a.example', type: 'A' } as const;
const QUERY = encodeQuery(QUESTION, { id: 0x1234 });

/** A response to `QUERY` with these records, in hexadecimal digits. */
const reply = (answers: number, authorities: number, records: string): Buffer => {
  const end = QUERY.indexOf(Buffer.from('00010001', 'hex')) + 4;
  const head = Buffer.from(QUERY.subarray(0, end));
  head[2] = 0x81;
  head[3] = 0x80;
  head.writeUInt16BE(answers, 6);
  head.writeUInt16BE(authorities, 8);
  head.writeUInt16BE(0, 10);
  return Buffer.concat([head, hex(records)]);
};

const REPLIES = [
  reply(1, 0, 'c00c 0001 0001 0000003c 0004 c0000201'),
  reply(2, 0, 'c00c 0005 0001 0000003c 0004 0162c00e c02d 0001 0001 0000003c 0004 c0000201'),
  reply(
    0,
    1,
    'c00e 0006 0001 0000003c 0018 016e c00e 016d c00e 00000001 00000002 00000003 00000004 00000005',
  ),
  reply(1, 0, 'c00c 001c 0001 0000003c 0010 20010db8000000000000000000000001'),
  // An alias of itself, and one whose name begins within the question.
  reply(1, 0, 'c00c 0005 0001 0000012c 0002 c00c'),
  reply(1, 1, 'c00c 0005 0001 0000012c 0006 03777777 c00e 00 0029 04d0 01000000 0000'),
];

const dnsReplies: FuzzTarget = {
  name: 'dns-replies',
  files: ['proxy/dns/message.ts', 'proxy/dns/names.ts', 'proxy/dns/records.ts'],
  samples: REPLIES,
  share: 0.5,
  run: (input, random) => {
    if (input.length > 0 && random.chance(0.1)) {
      new NameReader(input).at(random.below(input.length));
      return;
    }
    if (random.chance(0.7)) REPLIES[0]?.copy(input, 0, 0, Math.min(input.length, 3));
    const reply = readReply(input, QUERY);
    if (reply) followAliases(reply, QUESTION);
  },
};

const dnsQueries: FuzzTarget = {
  name: 'dns-queries',
  files: ['proxy/dns/responder.ts'],
  samples: [QUERY, hex('0001 0100 0001 0000 0000 0000 0161 0765 78616d706c65 00 00ff 0001')],
  share: 1,
  run: (input) => {
    const query = readQuery(input);
    if (query && query.problem === undefined) hostNameOf(query);
  },
};

const own = new X25519PrivateKey(Buffer.alloc(32, 1));
const peer = new X25519PrivateKey(Buffer.alloc(32, 2));
const responderKeys = createStaticKeys(Buffer.alloc(32, 1), peer.publicKey);
const initiatorKeys = createStaticKeys(Buffer.alloc(32, 2), own.publicKey);
assert.ok(responderKeys && initiatorKeys);
const initiator = new Initiator(initiatorKeys, 7, Buffer.alloc(32, 3));
const INITIATION = initiator.initiation(Buffer.alloc(12, 4));
const macs = new MacReader(own.publicKey, new KnownRandom());

const wireGuard: FuzzTarget = {
  name: 'wireguard-messages',
  files: [
    'proxy/protocols/wireguard/wire.ts',
    'proxy/protocols/wireguard/handshake/noise.ts',
    'proxy/protocols/wireguard/handshake/cookies.ts',
  ],
  samples: [INITIATION, hex(`04000000 01000000 0100000000000000 ${'ab'.repeat(32)}`)],
  share: 0.02,
  run: (input, random) => {
    const type = messageType(input, 0, input.length);
    assert.ok(type === undefined || input.length >= DATA_OVERHEAD);
    const message = Buffer.concat([input, INITIATION]).subarray(0, INITIATION.length);
    message[0] = MessageType.INITIATION;
    macs.check(message, CLIENT4, random.below(1e6));
    Responder.read(responderKeys, message);
    initiator.accept(message.subarray(0, 92));
  },
};

const netlink: FuzzTarget = {
  name: 'netlink-messages',
  files: ['io/platform/netlink/netlink-socket.ts'],
  samples: [
    hex(
      '2c000000 1800 0200 01000000 00000000 02 18 00 00 fe 03 00 01 00000000 0800 0100 c0000200 0400 0400',
    ),
    hex('24000000 0200 0001 01000000 00000000 edffffff 14000000 1800 0506 01000000 00000000'),
  ],
  share: 1,
  run: (input) => {
    for (const message of readMessages(input)) {
      readAttributes(message.body, 12);
      readAcknowledgement(message);
    }
    for (const value of readAttributes(input, 0).values()) assert.ok(value.length <= input.length);
  },
};

/** Packets and datagrams, and what reads them. */
export const DATAGRAMS: readonly FuzzTarget[] = [
  quicFrames,
  quicHeaders,
  quicParameters,
  quicTokens,
  quicConnection,
  dnsReplies,
  dnsQueries,
  wireGuard,
  netlink,
];
