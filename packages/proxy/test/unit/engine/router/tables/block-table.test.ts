import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { BlockTable } from '../../../../../src/engine/router/tables/block-table.ts';
import { Hits } from '../../../../../src/engine/router/conditions.ts';
import {
  NetworkListBuilder,
  packNetworks,
  packPorts,
  parseAddressWords,
  portWords,
} from '../../../../../src/engine/router/tables/network-list.ts';
import { formatIP, parseIP } from '@weir/io/addresses';
import { cidr } from '../../../../../../../test/support/engine/router/rules.ts';

const sorted = (hits: Hits): number[] => hits.lists.toSorted((a, b) => a - b);

function listsOf(table: BlockTable, value: Uint32Array, size: number): number[] {
  const hits = new Hits(size);
  table.match(value, hits);
  return sorted(hits);
}

const v4Table = (...lists: string[][]): BlockTable =>
  new BlockTable(
    1,
    lists.map((networks, list) => ({ list, blocks: packNetworks(networks.map(cidr)).v4 })),
  );

test('neighbouring networks of one list become one range', () => {
  const table = v4Table(['10.0.0.0/25', '10.0.0.128/25', '10.0.1.0/24', '10.0.0.7']);
  assert.equal(table.size, 2); // from 10.0.0.0 on inside, from 10.0.2.0 on outside
});

test('a network inside another of its list adds nothing', () => {
  assert.equal(v4Table(['10.0.0.0/8', '10.1.0.0/16', '10.1.2.3']).size, 2);
});

test('networks of several lists inside each other are distinguished', () => {
  const table = v4Table(['0.0.0.0/0'], ['10.0.0.0/8', '10.0.0.0/8'], ['10.0.0.0/8'], ['10.0.0.0']);
  const at = (text: string): number[] => listsOf(table, parseAddressWords(text) ?? portWords(0), 4);
  assert.deepEqual(at('10.0.0.0'), [0, 1, 2, 3]);
  assert.deepEqual(at('10.0.0.1'), [0, 1, 2]);
  assert.deepEqual(at('11.0.0.0'), [0]);
  assert.deepEqual(at('255.255.255.255'), [0]);
});

test('an empty table holds nothing', () => {
  assert.deepEqual(listsOf(v4Table(), portWords(0), 1), []);
  assert.equal(v4Table([]).size, 0);
});

/** The first `prefix` bits, then zeros. */
const masked = (value: bigint, prefix: number, bits: number): bigint =>
  (value >> BigInt(bits - prefix)) << BigInt(bits - prefix);

function toBytes(value: bigint, bits: number): Uint8Array {
  return Buffer.from(value.toString(16).padStart(bits / 4, '0'), 'hex');
}

for (const bits of [32, 128]) {
  test(`any networks of ${bits} bits hold what comparing prefixes finds`, () => {
    const max = (1n << BigInt(bits)) - 1n;
    // Values near each other and near the ends, so that networks nest and touch.
    const value = fc.oneof(
      fc.bigInt(0n, max),
      fc.bigInt(0n, 20n),
      fc.bigInt(max - 20n, max),
      fc.tuple(fc.nat(bits - 1), fc.bigInt(-2n, 2n)).map(([shift, by]) => {
        const near = (1n << BigInt(shift)) + by;
        return near < 0n ? 0n : near;
      }),
    );
    const network = fc.tuple(value, fc.nat(bits));
    fc.assert(
      fc.property(
        fc.array(fc.array(network, { maxLength: 8 }), { maxLength: 5 }),
        fc.array(value),
        (lists, values) => {
          const table = new BlockTable(
            bits === 32 ? 1 : 4,
            lists.map((networks, list) => {
              const builder = new NetworkListBuilder();
              for (const [base, prefix] of networks) builder.add(toBytes(base, bits), prefix);
              const built = builder.build();
              return { list, blocks: bits === 32 ? built.v4 : built.v6 };
            }),
          );
          const edges = lists.flat().flatMap(([base, prefix]) => {
            const start = masked(base, prefix, bits);
            const last = start + (1n << BigInt(bits - prefix)) - 1n;
            return [start - 1n, start, last, last + 1n].filter((edge) => edge >= 0n && edge <= max);
          });
          for (const probe of [...values, ...edges]) {
            const bytes = toBytes(probe, bits);
            const words = parseAddressWords(formatIP(bytes));
            // A mapped address is one of IPv4, which the other table holds.
            if (words?.length !== bits / 32) continue;
            const expected = lists.flatMap((networks, list) =>
              networks.some(
                ([base, prefix]) => masked(base, prefix, bits) === masked(probe, prefix, bits),
              )
                ? [list]
                : [],
            );
            assert.deepEqual(listsOf(table, words, lists.length), expected);
          }
        },
      ),
      { numRuns: 250 },
    );
  });
}

test('any port ranges hold exactly their ports', () => {
  const number = fc.oneof(fc.nat(65535), fc.nat(10), fc.integer({ min: 65530, max: 65535 }));
  const range = fc.tuple(number, number).map(([a, b]) => ({
    low: Math.min(a, b),
    high: Math.max(a, b),
  }));
  fc.assert(
    fc.property(fc.array(fc.array(range), { maxLength: 4 }), fc.array(number), (lists, ports) => {
      const table = new BlockTable(
        1,
        lists.map((ranges, list) => ({ list, blocks: packPorts(ranges) })),
      );
      const edges = lists.flat().flatMap(({ low, high }) => [low - 1, low, high, high + 1]);
      for (const port of [...ports, ...edges]) {
        if (port < 0 || port > 65535) continue;
        const expected = lists.flatMap((ranges, list) =>
          ranges.some(({ low, high }) => low <= port && port <= high) ? [list] : [],
        );
        assert.deepEqual(listsOf(table, portWords(port), lists.length), expected);
      }
    }),
    { numRuns: 300 },
  );
});

test('host bits of a network are cleared', () => {
  const { v4, v6 } = packNetworks([
    { address: '10.1.2.3', prefix: 8 },
    { address: '2001:db8::ffff', prefix: 33 },
    { address: '::ffff:10.1.2.3', prefix: 104 },
    { address: '::ffff:10.1.2.3', prefix: 90 },
  ]);
  assert.deepEqual([...v4.words], [0x0a000000, 0x0a000000]);
  assert.deepEqual([...v4.prefixes], [8, 8]);
  assert.deepEqual([...v6.words], [0x20010db8, 0, 0, 0, 0, 0, 0xffc0, 0]);
  assert.deepEqual([...v6.prefixes], [33, 90]);
});

test('an invalid address is refused', () => {
  assert.equal(parseIP('example.com'), undefined);
  assert.throws(() => packNetworks([{ address: 'example.com', prefix: 8 }]), RangeError);
});

test('an IPv4 address is read from text as the rest of the program reads it', () => {
  const part = fc.oneof(fc.nat(300).map(String), fc.constantFrom('', '00', '01', ' 1', '+1', '0'));
  fc.assert(
    fc.property(fc.array(part, { minLength: 3, maxLength: 5 }), (parts) => {
      const text = parts.join('.');
      assert.deepEqual(parseAddressWords(text), words(parseIP(text)), text);
    }),
    { numRuns: 1000 },
  );
});

const words = (bytes: Uint8Array | undefined): Uint32Array | undefined =>
  bytes && Uint32Array.of(Buffer.from(bytes).readUInt32BE());
