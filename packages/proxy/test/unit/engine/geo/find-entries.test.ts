import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type ByteSource, bytesSource } from '../../../../src/engine/geo/geo-data.ts';
import { findEntries } from '../../../../src/engine/geo/find-entries.ts';
import { readGeosite, SITE_CODE } from '../../../../src/engine/geo/geo-lists.ts';
import { encodeGeosite, field } from '../../../../../../test/support/data/geo-fixture.ts';

/** Counts what is read. */
function counting(bytes: Uint8Array): ByteSource & { total: number } {
  const inner = bytesSource(bytes);
  return {
    size: bytes.length,
    total: 0,
    read(position, length) {
      this.total += length;
      return inner.read(position, length);
    },
  };
}

const codesIn = async (bytes: Uint8Array, ...codes: string[]): Promise<string[]> =>
  [...(await findEntries(bytesSource(bytes), new Set(codes), SITE_CODE)).keys()].sort();

test('large lists that are not wanted are not read', async () => {
  const domains = Array.from({ length: 20_000 }, (_, i) => ({
    type: 'root' as const,
    value: `a-rather-long-domain-name-${i}.example`,
  }));
  const small = [{ type: 'root' as const, value: 'a.example' }];
  const bytes = encodeGeosite([
    ...Array.from({ length: 4 }, (_, i) => ({ code: `LARGE${i}`, domains })),
    { code: 'SMALL', domains: small },
  ]);
  const source = counting(bytes);
  const found = await findEntries(source, new Set(['small']), SITE_CODE);
  assert.deepEqual([...found.keys()], ['small']);
  assert.ok(source.total < bytes.length / 10, `${source.total} of ${bytes.length} bytes were read`);
});

test('the code may stand anywhere in an entry, or in the field of newer generators', async () => {
  const domain = Buffer.from([0x12, 5, 0x12, 3, 97, 46, 98]);
  const behind = field(1, Buffer.concat([domain, field(1, 'AA')]));
  const newer = field(1, Buffer.concat([domain, field(4, 'BB')]));
  const both = field(1, Buffer.concat([field(1, ''), field(4, 'CC'), field(1, 'DD')]));
  const none = field(1, domain);
  const long = field(1, field(1, 'x'.repeat(300)));
  const bytes = Buffer.concat([behind, newer, both, none, long]);
  const names = ['aa', 'bb', 'dd', 'x'.repeat(300)];
  assert.deepEqual(await codesIn(bytes, ...names, 'cc'), names);
});

test('an empty file has no lists', async () => {
  assert.deepEqual(await codesIn(new Uint8Array(0), 'a'), []);
});

test('a file that is corrupt or truncated is an error with the place', async () => {
  for (const [bytes, message] of [
    [[0x12, 0], /no list begins at byte 0/],
    [[0x0a, 0, 0x0a, 5, 1], /ends in the middle of the list at byte 2/],
    [[0x0a, 0x80], /ends in the middle of the list at byte 0/],
    [[0x0a, ...Array<number>(400).fill(0x80)], /no list begins at byte 0/],
  ] as const) {
    await assert.rejects(codesIn(Uint8Array.from(bytes), 'a'), message);
  }
});

const text = fc.string({ maxLength: 8 });
const sites = fc.array(
  fc.record({
    code: fc.constantFrom('A', 'b', 'CC'),
    domains: fc.array(
      fc.record({
        type: fc.constantFrom('plain' as const, 'regex' as const, 'root' as const, 'full' as const),
        value: text,
        attributes: fc.dictionary(fc.constantFrom('x', 'y'), fc.oneof(fc.boolean(), fc.nat())),
      }),
      { maxLength: 5 },
    ),
  }),
  { maxLength: 6 },
);

test('any lists that were written are read back', async () => {
  await fc.assert(
    fc.asyncProperty(sites, async (written) => {
      const file = encodeGeosite(written);
      const found = await findEntries(bytesSource(file), new Set(['a', 'b', 'cc']), SITE_CODE);
      for (const code of ['A', 'b', 'CC']) {
        const site = written.find((each) => each.code === code);
        const message = found.get(code.toLowerCase());
        assert.equal(message === undefined, site === undefined);
        if (!message || !site) continue;
        const lists = readGeosite(message, [undefined, 'x']);
        for (const [attribute, list] of lists) {
          const domains = site.domains.filter(
            ({ attributes }) => attribute === undefined || attribute in attributes,
          );
          const values = (type: string): string[] =>
            domains.filter((domain) => domain.type === type).map((domain) => domain.value);
          assert.deepEqual(list.regex, values('regex'));
          assert.deepEqual(
            list.keyword,
            values('plain').map((value) => value.toLowerCase()),
          );
          assert.ok(list.suffix.ends.length <= values('root').length);
          assert.ok(list.full.ends.length <= values('full').length);
        }
      }
    }),
    { numRuns: 300 },
  );
});
