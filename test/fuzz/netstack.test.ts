import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InboundPacket } from '@weir/base/ip';
import type { Stack } from '../../packages/netstack/src/stack.ts';
import type { StackEvent } from '../../packages/netstack/src/flows/flow-queues.ts';
import { MAX_SEND_BUFFER } from '../../packages/netstack/src/limits.ts';
import { TcpFlag } from '../../packages/netstack/src/wire/tcp.ts';
import {
  CLIENT4,
  IPV6,
  pattern,
  repairIPv4Checksum,
  segment,
  SERVER4,
  tcpPacket,
  udpPacket,
} from '../support/data/ip-packets.ts';
import { BareStack, sentSegment } from '../support/netstack/bare-stack.ts';
import { plainTraits } from '../support/netstack/device-pair.ts';
import { SeededRandom } from '../support/simnet/seeded-random.ts';

const ROUNDS = 300;
const PACKETS = 400;
const MAX_FLOWS = 40;

const FLAGS = [
  TcpFlag.SYN,
  TcpFlag.ACK,
  TcpFlag.ACK | TcpFlag.PSH,
  TcpFlag.FIN | TcpFlag.ACK,
  TcpFlag.RST,
  TcpFlag.SYN | TcpFlag.ACK,
];

/** A program that does whatever it may, at random. */
function program(random: SeededRandom): (event: StackEvent, stack: Stack) => void {
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

/** A packet that may be for one of a few connections, near what these expect. */
function somePacket(random: SeededRandom, sent: readonly Uint8Array[]): Uint8Array {
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

/** What the peer of the sender of a packet might send now. */
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

/** Damages a packet, and makes its IPv4 header valid again so that it gets further. */
function damage(packet: Uint8Array, random: SeededRandom): Uint8Array {
  const bytes = Uint8Array.from(packet.subarray(0, random.below(packet.length + 1)));
  const all = random.chance(0.5) ? bytes : Uint8Array.from(packet);
  for (let flips = random.below(4); flips > 0 && all.length > 0; flips--) {
    const at = random.below(Math.min(all.length, 80));
    all[at] = random.below(256);
  }
  return all.length >= 60 && (all[0] ?? 0) >> 4 === 4 ? repairIPv4Checksum(all) : all;
}

function inbound(buffer: Uint8Array, random: SeededRandom): InboundPacket {
  return {
    buffer,
    start: 0,
    end: buffer.length,
    // As if the device vouched for it, so that damage gets past the checksum.
    checksumVouched: random.chance(0.7),
    segmentSize: random.chance(0.1) ? random.below(1500) : 0,
  };
}

test('any packets in any order leave a stack that goes on, within its bounds', () => {
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const random = new SeededRandom(seed);
    const bare = new BareStack({
      traits: random.chance(0.5) ? plainTraits() : { ...plainTraits(), mtu: 1280, largest: 1280 },
      settings: { maxFlows: MAX_FLOWS, udpIdle: 3000 },
      onEvent: program(random),
    });
    let sent: Uint8Array[] = [];
    try {
      for (let count = 0; count < PACKETS; count++) {
        const packet = somePacket(random, sent);
        const damaged = random.chance(0.3) ? damage(packet, random) : packet;
        bare.stack.receive(inbound(damaged, random), bare.now);
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
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
});
