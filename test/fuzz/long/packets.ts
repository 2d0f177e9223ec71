import assert from 'node:assert/strict';
import type { Stack } from '../../../packages/netstack/src/stack.ts';
import type { StackEvent } from '../../../packages/netstack/src/flows/flow-queues.ts';
import { FragmentReassembly } from '../../../packages/netstack/src/ip/fragment-reassembly.ts';
import {
  icmpErrorSize,
  mayCauseError,
  writeIcmpError,
} from '../../../packages/netstack/src/ip/icmp-replies.ts';
import { Fragmentation } from '../../../packages/netstack/src/ip/ip-output.ts';
import { MAX_FRAGMENT_BYTES, MAX_SEND_BUFFER } from '../../../packages/netstack/src/limits.ts';
import {
  IcmpMessage,
  IcmpQuote,
  readIcmp,
  readQuote,
} from '../../../packages/netstack/src/wire/icmp.ts';
import { readIpPacket } from '../../../packages/netstack/src/wire/ip.ts';
import { IpPacket, IpProtocol } from '../../../packages/netstack/src/wire/ip-packet.ts';
import { readTcpSegment, TcpFlag, TcpSegment } from '../../../packages/netstack/src/wire/tcp.ts';
import { readUdpDatagram, UdpBatch, UdpDatagram } from '../../../packages/netstack/src/wire/udp.ts';
import {
  CLIENT4,
  IPV6,
  parsed,
  pattern,
  repairIPv4Checksum,
  segment,
  SERVER4,
  tcpPacket,
  transportPacket,
  udpPacket,
} from '../../support/data/ip-packets.ts';
import { BareStack, sentSegment } from '../../support/netstack/bare-stack.ts';
import { plainTraits } from '../../support/netstack/device-pair.ts';
import type { SeededRandom } from '../../support/simnet/seeded-random.ts';
import { type FuzzTarget, hex } from './target.ts';

const PACKETS = [
  udpPacket(pattern(40)),
  udpPacket(pattern(90), IPV6),
  tcpPacket(segment({ flags: TcpFlag.SYN, mss: 1400, windowScale: 7, sackPermitted: true })),
  tcpPacket(segment({ flags: TcpFlag.ACK, sackCount: 2, hasTimestamps: true }), pattern(20)),
  tcpPacket(segment({ flags: TcpFlag.FIN | TcpFlag.ACK }), pattern(0), IPV6),
  transportPacket(1, Buffer.concat([hex('0800 0000 0001 0001'), pattern(20)]), 2),
  transportPacket(1, Buffer.concat([hex('0303 0000 0000 0000'), udpPacket(pattern(4))]), 2),
  transportPacket(
    58,
    Buffer.concat([hex('0200 0000 00000500'), udpPacket(pattern(4), IPV6)]),
    2,
    IPV6,
  ),
  udpPacket(pattern(30), { ...IPV6, extensions: hex('11 00 0104 00000000'), nextHeader: 0 }),
  udpPacket(pattern(40), {
    ...IPV6,
    extensions: hex('3c00 0104 00000000 2b00 0104 00000000 1100 0200 00000000'),
    nextHeader: 0,
  }),
  fragment(udpPacket(pattern(64)), 0x2000),
  fragment(udpPacket(pattern(64)), 0x0004),
];

function fragment(packet: Uint8Array, field: number): Uint8Array {
  packet[6] = field >> 8;
  packet[7] = field;
  return repairIPv4Checksum(packet);
}

/** Lets most mutated packets of IPv4 past the checksum of the header. */
function repaired(input: Buffer, random: SeededRandom): Buffer {
  if (input.length >= 20 && (input[0] ?? 0) >> 4 === 4 && random.chance(0.8)) {
    const size = ((input[0] ?? 0) & 15) * 4;
    if (random.chance(0.5)) input.writeUInt16BE(input.length, 2);
    if (size >= 20 && size <= input.length) repairIPv4Checksum(input);
  } else if (input.length >= 40 && random.chance(0.5)) {
    input.writeUInt16BE(input.length - 40, 4);
  }
  return input;
}

const packet = new IpPacket();
const tcp = new TcpSegment();
const udp = new UdpDatagram();
const icmp = new IcmpMessage();
const quote = new IcmpQuote();
const batch = new UdpBatch();
const fragmentation = new Fragmentation();

const ipPackets: FuzzTarget = {
  name: 'ip-packets',
  files: [
    'netstack/wire/ip.ts',
    'netstack/wire/ipv4.ts',
    'netstack/wire/ipv6.ts',
    'netstack/wire/tcp.ts',
    'netstack/wire/udp.ts',
    'netstack/wire/icmp.ts',
  ],
  samples: PACKETS,
  share: 1,
  run: (input, random) => {
    if (readIpPacket(repaired(input, random), 0, input.length, packet) !== undefined) return;
    assert.ok(packet.start <= packet.payload && packet.payload <= packet.end);
    assert.ok(packet.end <= input.length);
    if (mayCauseError(packet)) checkIcmpError();
    if (packet.isFragment) return;
    const isVouched = random.chance(0.8);
    if (packet.protocol === IpProtocol.TCP) checkTcp(isVouched);
    else if (packet.protocol === IpProtocol.UDP) checkUdp(isVouched, random.below(60));
    else if (readIcmp(packet, isVouched, icmp) === undefined) readQuote(icmp, quote);
  },
};

/** The error that a packet causes is valid. */
function checkIcmpError(): void {
  const error = new Uint8Array(icmpErrorSize(packet));
  writeIcmpError('port unreachable', packet, packet.destination, 0, error, 0);
  assert.equal(readIcmp(parsed(error), false, icmp), undefined);
  readQuote(icmp, quote);
}

function checkTcp(isVouched: boolean): void {
  if (readTcpSegment(packet, isVouched, tcp) !== undefined) return;
  assert.ok(tcp.payload <= tcp.payloadEnd && tcp.payloadEnd === packet.end);
  assert.ok(tcp.sackCount <= 4 && tcp.windowScale <= 14);
}

/** A batch has all of its payload, and the fragments of a packet have the sizes announced, in a finite number. */
function checkUdp(isVouched: boolean, segmentSize: number): void {
  if (readUdpDatagram(packet, isVouched, udp) !== undefined) return;
  batch.begin(udp, segmentSize);
  let at = udp.payload;
  while (batch.next()) {
    assert.equal(batch.start, at);
    at = batch.end;
  }
  assert.equal(at, udp.payloadEnd);
  const isStarted = fragmentation.begin(packet, 60 + segmentSize, 1);
  let count = 0;
  for (let size = fragmentation.nextSize(); size > 0; size = fragmentation.nextSize()) {
    assert.ok(isStarted && count++ < 70_000);
    fragmentation.write(new Uint8Array(size), 0);
  }
}

const reassembly = new FragmentReassembly();
let reassemblyTime = 0;

const ipFragments: FuzzTarget = {
  name: 'ip-fragments',
  files: ['netstack/ip/fragment-reassembly.ts'],
  samples: PACKETS.slice(-2),
  share: 0.5,
  run: (input, random) => {
    if (readIpPacket(repaired(input, random), 0, input.length, packet) !== undefined) return;
    if (!packet.isFragment) return;
    reassembly.receive(packet, (reassemblyTime += random.below(20)));
    assert.ok(reassembly.bytes <= MAX_FRAGMENT_BYTES);
  },
};

const MAX_FLOWS = 40;
/** Packets that a stack receives beside the input. */
const PACKETS_A_STACK = 60;

const ipStack: FuzzTarget = {
  name: 'ip-stack',
  files: ['netstack/stack.ts'],
  samples: PACKETS,
  share: 0.1,
  run: (input, random) => {
    const bare = new BareStack({
      traits: random.chance(0.5) ? plainTraits() : { ...plainTraits(), mtu: 1280, largest: 1280 },
      settings: { maxFlows: MAX_FLOWS, udpIdle: 3000 },
      onEvent: randomProgram(random),
    });
    const place = random.below(PACKETS_A_STACK);
    let sent: readonly Uint8Array[] = [];
    for (let count = 0; count < PACKETS_A_STACK; count++) {
      const plausible = nextPacket(random, sent);
      const buffer = count === place ? repaired(input, random) : plausible;
      // As if the device vouched for it, so that damage gets past the checksum.
      const checksumVouched = random.chance(0.8);
      const segmentSize = random.chance(0.1) ? random.below(1500) : 0;
      const record = { start: 0, end: buffer.length, checksumVouched, segmentSize };
      bare.stack.receive({ buffer, ...record }, bare.now);
      const out = bare.settle();
      if (out.length > 0) sent = out;
      if (random.chance(0.1)) bare.advance(random.below(2000));
      assert.ok(bare.stack.flows <= MAX_FLOWS);
      for (const each of out) assert.ok(each.length <= 1500);
    }
    for (const flow of [...bare.stack.udp, ...bare.stack.tcp]) bare.stack.abort(flow, bare.now);
    bare.settle();
    assert.equal(bare.stack.flows, 0, 'flows after the end');
    bare.advance(200_000);
    assert.equal(bare.stack.tcp.timeWait, 0);
    assert.equal(bare.stack.nextTimeout(), Infinity);
  },
};

const FLAGS = [
  TcpFlag.SYN,
  TcpFlag.ACK,
  TcpFlag.ACK | TcpFlag.PSH,
  TcpFlag.FIN | TcpFlag.ACK,
  TcpFlag.RST,
  TcpFlag.SYN | TcpFlag.ACK,
];

/** A program that accepts, refuses, writes and closes at random. */
function randomProgram(random: SeededRandom): (event: StackEvent, stack: Stack) => void {
  return ({ network, flow, event }, stack) => {
    if (network === 'udp') {
      if (event === 'expired' || random.chance(0.05)) stack.udp.close(flow);
      else if (random.chance(0.5)) {
        const packet = flow.take();
        const peer = packet && flow.peers.numbers(packet.peer);
        if (packet && peer) stack.udp.send(flow, packet.data, peer, flow.activeAt);
      }
      return;
    }
    const { connection } = flow;
    if (event === 'requested') {
      const choice = random.below(8);
      if (choice < 5) stack.tcp.accept(flow);
      else if (choice === 5) stack.refuse(flow, 'refused', 0);
      else if (choice === 6) stack.refuse(flow, 'host unreachable', 0);
      else stack.refuse(flow, 'timeout', 0);
      return;
    }
    if (random.chance(0.7)) connection.read(0);
    if (random.chance(0.5) && connection.unacknowledged < MAX_SEND_BUFFER) {
      connection.write(new Uint8Array(random.below(20_000)));
    }
    if (random.chance(0.05)) connection.closeWrite();
    if (random.chance(0.02)) connection.abort(0);
    stack.tcp.touch(flow);
  };
}

/** A packet for one of a few connections, near what these expect. */
function nextPacket(random: SeededRandom, sent: readonly Uint8Array[]): Uint8Array {
  const source = { ...CLIENT4, port: 40_000 + random.below(4) };
  const choice = random.below(10);
  if (choice === 0) return random.bytes(random.below(200));
  if (choice === 1) return udpPacket(pattern(random.below(3000)), { source });
  const last = sent[random.below(Math.max(1, sent.length))];
  const isV6 = last !== undefined && last.length > 0 && (last[0] ?? 0) >> 4 === 6;
  const answered = last === undefined ? undefined : respondTo(last, random);
  const fields = {
    sourcePort: source.port,
    sequence: 1000 + random.below(5000),
    acknowledgment: random.next(),
    window: random.below(65_536),
    mss: random.below(2000),
    windowScale: random.below(16) - 1,
    sackPermitted: random.chance(0.5),
    hasTimestamps: random.chance(0.3),
    timestamp: random.below(100_000),
    timestampEcho: random.below(100_000),
    sackCount: random.below(4),
    flags: FLAGS[random.below(FLAGS.length)] ?? 0,
    ...answered,
  };
  const header = segment(fields);
  for (let edge = 0; edge < 8; edge++) header.sackBlocks[edge] = fields.acknowledgment + edge * 700;
  const size = header.flags === TcpFlag.SYN ? 0 : random.below(1400);
  return tcpPacket(header, pattern(size), isV6 ? IPV6 : { source, destination: SERVER4 });
}

/** A segment that the peer could send in response to a packet; `undefined` for none. */
function respondTo(bytes: Uint8Array, random: SeededRandom): object | undefined {
  try {
    const { tcp } = sentSegment(bytes);
    const sequence = (tcp.acknowledgment + (random.chance(0.5) ? 0 : random.below(3000))) >>> 0;
    const size = tcp.payloadEnd - tcp.payload;
    const acknowledgment =
      (tcp.sequence + random.below(size + 2) + (tcp.flags & TcpFlag.SYN ? 1 : 0)) >>> 0;
    const flags = random.chance(0.9) ? TcpFlag.ACK : TcpFlag.FIN | TcpFlag.ACK;
    return { sourcePort: tcp.destinationPort, sequence, acknowledgment, flags };
  } catch {
    return undefined;
  }
}

/** Packets of a device, and the stack that receives them. */
export const PACKET_TARGETS: readonly FuzzTarget[] = [ipPackets, ipFragments, ipStack];
