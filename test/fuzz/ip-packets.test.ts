import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  FragmentReassembly,
  type FragmentOutcome,
} from '../../packages/netstack/src/ip/fragment-reassembly.ts';
import {
  MAX_FRAGMENT_BYTES,
  MAX_INCOMPLETE_DATAGRAMS,
} from '../../packages/netstack/src/limits.ts';
import { type IpPacket, IpProtocol } from '../../packages/netstack/src/wire/ip-packet.ts';
import {
  readTcpSegment,
  TcpFlag,
  TcpSegment,
  tcpHeaderSize,
} from '../../packages/netstack/src/wire/tcp.ts';
import {
  IPV6,
  ipPacket,
  parsed,
  pattern,
  repairIPv4Checksum,
  segment,
  tcpPacket,
} from '../support/data/ip-packets.ts';

const RUNS = 100_000;

const tcp = new TcpSegment();

const header = fc.record({
  flags: fc.constantFrom(2, 18, 16, 17, 24, 4, 20, 0xd0, 0x38),
  sequence: fc.nat(0xffffffff),
  acknowledgment: fc.nat(0xffffffff),
  window: fc.nat(0xffff),
  urgent: fc.nat(0xffff),
  mss: fc.nat(0xffff),
  windowScale: fc.integer({ min: -1, max: 14 }),
  sackPermitted: fc.boolean(),
  hasTimestamps: fc.boolean(),
  timestamp: fc.nat(0xffffffff),
  timestampEcho: fc.nat(0xffffffff),
  sackCount: fc.nat(4),
});

test(`any of ${RUNS} TCP headers is read as it was written, but for what has no place in it`, () => {
  fc.assert(
    fc.property(header, fc.nat(40), fc.boolean(), (fields, size, isV6) => {
      const sent = segment(fields);
      sent.sackBlocks.forEach((_, at, blocks) => (blocks[at] = at * 0x11111111));
      assert.ok(tcpHeaderSize(sent) <= 60);
      const found = parsed(tcpPacket(sent, pattern(size), isV6 ? IPV6 : {}));
      assert.equal(readTcpSegment(found, false, tcp), undefined);
      assert.equal(tcp.payloadEnd - tcp.payload, size);
      const isSyn = (fields.flags & TcpFlag.SYN) !== 0;
      const { sackCount, timestamp, timestampEcho, mss, windowScale, sackPermitted } = fields;
      const expected = {
        ...fields,
        mss: isSyn ? mss : 0,
        windowScale: isSyn ? windowScale : -1,
        sackPermitted: isSyn && sackPermitted,
        timestamp: fields.hasTimestamps ? timestamp : 0,
        timestampEcho: fields.hasTimestamps ? timestampEcho : 0,
        sackCount: tcp.sackCount,
      };
      for (const [name, value] of Object.entries(expected)) {
        assert.equal(tcp[name as keyof typeof expected], value, name);
      }
      assert.ok(tcp.sackCount <= sackCount && tcp.sackCount >= Math.min(sackCount, isSyn ? 2 : 3));
      const edges = tcp.sackBlocks.subarray(0, 2 * tcp.sackCount);
      assert.deepEqual(edges, sent.sackBlocks.subarray(0, 2 * tcp.sackCount));
    }),
    { numRuns: RUNS },
  );
});

/** What is known of one datagram: its bytes by offset, as a naive implementation keeps them. */
interface Model {
  readonly ranges: { start: number; end: number; seed: number }[];
  total: number;
  isInvalid: boolean;
}

/** RFC 791 and RFC 5722 without any thought of cost. */
function expectOf(model: Model, start: number, end: number, more: boolean, seed: number): string {
  if (model.isInvalid) return 'invalid';
  const { ranges } = model;
  const isSame = ({ start: from, end: to, seed: of }: Model['ranges'][number]): boolean =>
    from === start && to === end && of === seed;
  if (ranges.some(isSame) && more === (end !== model.total)) return 'duplicate';
  const furthest = Math.max(0, ...ranges.map((range) => range.end));
  const isBad =
    ranges.some((range) => range.start < end && start < range.end) ||
    (model.total >= 0 && (end > model.total || (!more && end !== model.total))) ||
    (!more && furthest > end);
  if (isBad) {
    model.isInvalid = true;
    return 'invalid';
  }
  ranges.push({ start, end, seed });
  if (!more) model.total = end;
  const received = ranges.reduce((sum, range) => sum + range.end - range.start, 0);
  return received === model.total ? 'complete' : 'held';
}

const isHeldOrDone = (outcome: FragmentOutcome): boolean =>
  outcome === 'held' || outcome === 'complete' || outcome === 'duplicate';

/** A fragment of `identification` with bytes that follow from their place in the datagram and `seed`. */
function fragmentOf(
  id: number,
  start: number,
  size: number,
  more: boolean,
  seed: number,
): IpPacket {
  const whole = pattern(256, seed);
  const bytes = ipPacket(IpProtocol.UDP, whole.subarray(start, start + size), {
    identification: id,
  });
  bytes[6] = (more ? 0x20 : 0) | (start >> 11);
  bytes[7] = start >> 3;
  return parsed(repairIPv4Checksum(bytes));
}

const fragments = fc.array(
  fc.record({
    id: fc.nat(1),
    place: fc.nat(5),
    units: fc.integer({ min: 1, max: 3 }),
    more: fc.integer({ min: 0, max: 3 }).map((value) => value > 0),
    seed: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1),
  }),
  { maxLength: 24 },
);

test('fragments in any order come to what a naive implementation makes of them', (t) => {
  const seen = { complete: 0, held: 0, duplicate: 0, invalid: 0 };
  fc.assert(
    fc.property(fragments, (pieces) => {
      const reassembly = new FragmentReassembly();
      const models = new Map<number, Model>();
      for (const { id, place, units, more, seed } of pieces) {
        const model = models.get(id) ?? { ranges: [], total: -1, isInvalid: false };
        models.set(id, model);
        const start = place * 8;
        const size = units * 8;
        const expected = expectOf(model, start, start + size, more, seed);
        const got = reassembly.receive(fragmentOf(id, start, size, more, seed), 0);
        assert.equal(isHeldOrDone(got) ? got : 'invalid', expected);
        seen[expected as keyof typeof seen]++;
        if (got !== 'complete') continue;
        models.delete(id);
        const { payload, end, bytes } = parsed(reassembly.packet, 0, reassembly.packetSize);
        assert.equal(end - payload, model.total);
        for (const range of model.ranges) {
          const data = pattern(256, range.seed).subarray(range.start, range.end);
          assert.deepEqual(bytes.slice(payload + range.start, payload + range.end), data);
        }
      }
    }),
    { numRuns: RUNS / 5 },
  );
  t.diagnostic(JSON.stringify(seen));
  assert.ok(Math.min(...Object.values(seen)) > 1000, 'the generator is too narrow');
});

test('any fragments keep within the bounds, and are gone in time', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (seed, stride) => {
      const reassembly = new FragmentReassembly();
      const time = { now: 0 };
      for (let index = 0; index < 2000; index++) {
        const id = (seed + index * stride) & 0xffff;
        const size = 8 + ((id * 8) % 240);
        const source = { a: 0, b: 0, c: 0xffff, d: (203 << 24) | (id % 7), port: 0, scope: 0 };
        const bytes = ipPacket(IpProtocol.UDP, pattern(size), { source, identification: id });
        bytes[6] = 0x20;
        bytes[7] = index & 0x0f;
        reassembly.receive(parsed(repairIPv4Checksum(bytes)), time.now);
        assert.ok(reassembly.size <= MAX_INCOMPLETE_DATAGRAMS);
        assert.ok(reassembly.bytes <= MAX_FRAGMENT_BYTES);
        time.now += 10;
        reassembly.onTimeout(time.now);
      }
      reassembly.onTimeout(time.now + 30_000);
      assert.equal(reassembly.size, 0);
      assert.equal(reassembly.bytes, 0);
    }),
    { numRuns: 50 },
  );
});
