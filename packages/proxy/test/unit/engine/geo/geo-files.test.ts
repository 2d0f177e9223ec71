import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { GeoFileError } from '../../../../src/engine/geo/geo-data.ts';
import { loadGeoData } from '../../../../src/engine/geo/geo-files.ts';
import { RegexCache } from '../../../../src/engine/router/tables/regex-set.ts';
import type { RouteQuery } from '../../../../src/engine/router/query.ts';
import { Router } from '../../../../src/engine/router/router.ts';
import type { RuleSpec } from '../../../../src/spec.ts';
import { encodeGeoip, encodeGeosite } from '../../../../../../test/support/data/geo-fixture.ts';
import { query, rule } from '../../../../../../test/support/engine/router/rules.ts';

const GEOSITE = encodeGeosite([
  { code: 'EMPTY', domains: [] },
  {
    code: 'Shop',
    domains: [
      { type: 'root', value: 'Shop.example' },
      { type: 'full', value: 'exact.example', attributes: { ads: true } },
      { type: 'plain', value: 'SALE', attributes: { ads: false, '!cn': true } },
      { type: 'regex', value: '^buy[0-9]+\\.', attributes: { Ads: 7, cn: true } },
    ],
  },
  { code: 'SHOP', domains: [{ type: 'root', value: 'second.example' }] },
]);

const GEOIP = encodeGeoip([
  { code: 'XX', networks: [{ ip: [192, 0, 2, 9], prefix: 24 }] },
  {
    code: 'YY',
    networks: [
      { ip: [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], prefix: 32 },
      { ip: [0, 0, 0, 0], prefix: 1 },
    ],
  },
  { code: 'ELSEWHERE', inverse: true, networks: [{ ip: [10, 0, 0, 0], prefix: 8 }] },
]);

/** Files in a folder that goes away with the test. */
async function files(context: TestContext, geosite: Uint8Array, geoip: Uint8Array) {
  const folder = await mkdtemp(join(tmpdir(), 'weir-geo-'));
  context.after(() => rm(folder, { recursive: true }));
  const paths = { geosite: join(folder, 'geosite.dat'), geoip: join(folder, 'geoip.dat') };
  await Promise.all([writeFile(paths.geosite, geosite), writeFile(paths.geoip, geoip)]);
  return paths;
}

const site = (text: string): Partial<RuleSpec> => {
  const [code = '', attribute] = text.split('@');
  return { geosite: [{ code, attribute }] };
};
const ip = (code: string, negate = false): Partial<RuleSpec> => ({ geoip: [{ code, negate }] });

const CASES: [string, Partial<RuleSpec>, string[], string[]][] = [
  [
    'a geosite code takes all its domains, of every type',
    site('shop'),
    ['a.shop.example', 'exact.example', 'bigsales.example', 'buy12.example', 'SHOP.EXAMPLE'],
    ['a.exact.example', 'notshop.example', 'a.buy12.example', 'second.example', '192.0.2.1'],
  ],
  [
    'an attribute takes the domains that carry it, whatever its value',
    site('SHOP@ADS'),
    ['exact.example', 'sale', 'buy1.example'],
    ['shop.example', 'a.exact.example'],
  ],
  ['an attribute may have any name', site('shop@!cn'), ['sale'], ['shop.example', 'buy1.a']],
  ['an unknown attribute takes nothing', site('shop@none'), [], ['shop.example', 'exact.example']],
  ['an empty list takes nothing', site('empty'), [], ['shop.example']],
  [
    'a geoip code takes the addresses inside',
    ip('xx'),
    ['192.0.2.0', '192.0.2.255', '::ffff:192.0.2.3'],
    ['192.0.3.0', '2001:db8::1', 'shop.example'],
  ],
  [
    'a negated geoip code takes the addresses outside, and no name',
    ip('XX', true),
    ['192.0.3.0', '2001:db8::1'],
    ['192.0.2.0', 'shop.example'],
  ],
  ['a geoip list has both families', ip('yy'), ['1.2.3.4', '2001:db8::1'], ['128.0.0.0', '::1']],
  ['an inverse list means the rest', ip('elsewhere'), ['11.0.0.0', '::1'], ['10.2.3.4', 'a.b']],
  ['an inverse list can be negated', ip('elsewhere', true), ['10.2.3.4'], ['11.0.0.0', 'a.b']],
  [
    'codes of one rule are alternatives',
    { geoip: [...(ip('xx').geoip ?? []), ...(ip('yy', true).geoip ?? [])] },
    ['192.0.2.1', '200.0.0.1'],
    ['1.2.3.4'],
  ],
];
for (const [what, matchers, taken, left] of CASES) {
  test(what, async (context) => {
    const rules = [rule(matchers)];
    const geo = await loadGeoData(await files(context, GEOSITE, GEOIP), rules);
    const router = new Router({ default: 'default', rules }, { regexes: new RegexCache(), geo });
    const takes = (parts: Partial<RouteQuery>): boolean => router.route(query(parts)).rule === 0;
    for (const host of taken) assert.ok(takes({ host }), host);
    for (const host of left) assert.ok(!takes({ host }), host);
  });
}

test('a matcher without a configured file is refused', async () => {
  await assert.rejects(loadGeoData({ geoip: undefined, geosite: 'x' }, [rule(ip('xx'))]), {
    message: 'a geoip matcher is used but no geoip file is configured',
  });
});

const BROKEN: [string, Uint8Array, RegExp][] = [
  ['a text', Buffer.from('<!DOCTYPE html>'), /not a geosite file: no list begins at byte 0/],
  ['a truncated file', GEOSITE.subarray(0, -3), /the file ends in the middle of the list at byte/],
  [
    'a geoip file',
    encodeGeoip([{ code: 'shop', networks: [{ ip: [1, 2, 3, 4], prefix: 8 }] }]),
    /field 1/,
  ],
  ['a list with a broken end', Buffer.from('0a080a0453484f501205', 'hex'), /beyond its message/],
  ['an unknown type of domain', Buffer.from('0a0a0a0453484f5012020807', 'hex'), /unknown type 7/],
];
for (const [what, bytes, message] of BROKEN) {
  test(`${what} in place of a geosite file is an error that names the file`, async (context) => {
    const paths = await files(context, bytes, GEOIP);
    await assert.rejects(loadGeoData(paths, [rule(site('shop'))]), (error) => {
      assert.ok(error instanceof GeoFileError);
      assert.ok(error.message.startsWith(`${paths.geosite}: `), error.message);
      assert.match(error.message, message);
      return true;
    });
  });
}

for (const [what, network] of [
  ['an address of 5 bytes', { ip: [1, 2, 3, 4, 5], prefix: 8 }],
  ['a prefix of 33 bits', { ip: [1, 2, 3, 4], prefix: 33 }],
] as const) {
  test(`${what} in a geoip file is an error that names the file`, async (context) => {
    const paths = await files(context, GEOSITE, encodeGeoip([{ code: 'xx', networks: [network] }]));
    await assert.rejects(loadGeoData(paths, [rule(ip('xx'))]), (error) => {
      return (
        error instanceof GeoFileError && error.message.startsWith(`${paths.geoip}: not a geoip`)
      );
    });
  });
}
