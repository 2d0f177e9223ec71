import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import type { ConfigError } from '../../src/errors.ts';
import { encodeGeoip, encodeGeosite } from '../../../../test/support/data/geo-fixture.ts';
import {
  DIRECT,
  load,
  loadErrorOf,
  placeOf,
  refuses,
  rule,
  ruleOf,
  type Row,
} from '../../../../test/support/config/support.ts';

const GEOSITE = encodeGeosite([
  { code: 'SHOP', domains: [{ type: 'root', value: 'shop.example', attributes: { ads: true } }] },
  { code: 'BROKEN', domains: [{ type: 'regex', value: '(a' }] },
]);
const GEOIP = encodeGeoip([{ code: 'XX', networks: [{ ip: [192, 0, 2, 0], prefix: 24 }] }]);

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-config-geo-'));
  await writeFile(join(folder, 'geosite.dat'), GEOSITE);
  await writeFile(join(folder, 'geoip.dat'), GEOIP);
  await writeFile(join(folder, 'page.html'), '<!DOCTYPE html>');
});
after(() => rm(folder, { recursive: true }));

/** Line 5 names the geoip file, line 6 the geosite file, line 9 is the first of `lines`. */
const route = (lines: string, { geoip = 'geoip.dat', geosite = 'geosite.dat' } = {}): string =>
  [
    DIRECT.trimEnd(),
    '[route]',
    `geoip = ${JSON.stringify(join(folder, geoip))}`,
    `geosite = ${JSON.stringify(join(folder, geosite))}`,
    '[[route.rule]]',
    'outbound = "direct"',
    lines,
  ].join('\n');

const errorOf = (text: string): Promise<ConfigError> => loadErrorOf(text, new FileDigests());

const WITHOUT_FILES: readonly Row[] = [
  [
    'a geoip matcher without a file',
    rule('geoip = ["xx"]'),
    'a geoip matcher is used but no geoip file is configured',
    '6:10 (route.rule[0])',
  ],
  [
    'a geosite matcher without a file',
    rule('geosite = ["shop", ""]'),
    'a geosite matcher is used but no geosite file is configured',
    '6:12 (route.rule[0])',
  ],
  [
    'a geosite matcher with the other file',
    `${rule('geosite = ["shop"]')}[route]\ngeoip = "geoip.dat"`,
    'a geosite matcher is used but no geosite file is configured',
    '6:12 (route.rule[0])',
  ],
  [
    'an empty geoip code without a file',
    rule('geoip = ["!"]'),
    'a geoip matcher is used but no geoip file is configured',
    '6:10 (route.rule[0])',
  ],
];

describe('a route is refused for', () => refuses(WITHOUT_FILES));

describe('with both files a route is refused for', () => {
  const CODES: readonly Row[] = [
    ['an unknown geoip code', 'geoip = ["xx", "ZZ"]', 'geoip code not found: ZZ', '9:16'],
    ['an unknown geoip code outside', 'geoip = ["!Zz"]', 'geoip code not found: Zz', '9:10'],
    ['a code negated twice', 'geoip = ["!!xx"]', 'geoip code not found: !xx', '9:10'],
    ['an empty geoip code', 'geoip = ["xx", "!"]', 'geoip code not found: ', '9:16'],
    [
      'an unknown geosite code',
      'geosite = ["nobody@ads"]',
      'geosite code not found: nobody',
      '9:12',
    ],
    ['a prefix', 'geosite = ["geosite:shop"]', 'geosite code not found: geosite:shop', '9:12'],
    ['a code with a space', 'geosite = ["shop", "shop "]', 'geosite code not found: shop ', '9:20'],
    ['an empty geosite code', 'geosite = ["@ads"]', 'geosite code not found: ', '9:12'],
    [
      'unknown codes of both kinds, the first',
      'geosite = ["nobody"]\ngeoip = ["zz"]',
      'geosite code not found: nobody',
      '9:12',
    ],
  ];
  for (const [what, lines, message, place] of CODES) {
    test(what, async () => {
      const error = await errorOf(route(lines));
      assert.equal(error.message, message);
      assert.equal(error.kind, 'invalid');
      assert.equal(placeOf(error), `${place} (route.rule[0])`);
    });
  }

  test('an invalid pattern in a list', async () => {
    const error = await errorOf(route('geosite = ["shop", "Broken@x", "Broken"]'));
    const list = `${join(folder, 'geosite.dat')}: geosite broken`;
    assert.ok(error.message.startsWith(`${list}: invalid domain regex (a: regex parse error:`));
    assert.equal(error.kind, 'invalid');
    assert.equal(placeOf(error), '9:20 (route.rule[0])');
  });
});

describe('a geo file', () => {
  test('that a rule needs and that is missing is named, with the reason', async () => {
    const geoip = await errorOf(route('geoip = ["xx"]', { geoip: 'none.dat' }));
    const path = join(folder, 'none.dat');
    assert.equal(geoip.message, `cannot read geoip file ${path}: no such file or directory`);
    assert.equal(geoip.kind, 'io');
    assert.equal(placeOf(geoip), '5:9 (route)');
    const geosite = await errorOf(route('geosite = ["shop"]', { geosite: '.' }));
    assert.equal(geosite.message, `cannot read geosite file ${folder}: is a directory`);
    assert.equal(geosite.kind, 'io');
    assert.equal(placeOf(geosite), '6:11 (route)');
  });

  test('that is invalid is named', async () => {
    const error = await errorOf(route('geosite = ["shop"]', { geosite: 'page.html' }));
    assert.ok(error.message.startsWith(`${join(folder, 'page.html')}: not a geosite file: `));
    assert.equal(error.kind, 'invalid');
    assert.equal(placeOf(error), '6:11 (route)');
  });

  test('that no rule needs is not opened', async () => {
    const { spec, geo } = await load(
      route('geoip = []\ngeosite = ["shop"]', { geoip: 'none.dat' }),
      new FileDigests(),
    );
    assert.equal(spec.route.geoip, undefined);
    assert.equal(geo.geoip.size, 0);
  });

  test('gives the lists that rules name, and its digest', async () => {
    const { spec, geo } = await load(
      route('geoip = ["!xX"]\ngeosite = ["Shop@ADS"]'),
      new FileDigests(),
    );
    assert.deepEqual(spec.route.geoip, {
      path: join(folder, 'geoip.dat'),
      sha256: hash('sha256', GEOIP),
    });
    assert.deepEqual(spec.route.geosite, {
      path: join(folder, 'geosite.dat'),
      sha256: hash('sha256', GEOSITE),
    });
    assert.deepEqual([...geo.geoip.keys()], ['xx']);
    assert.deepEqual([...geo.geosite.keys()], ['shop@ads']);
    assert.deepEqual(structuredClone(spec), spec);
  });

  test('may lack the attribute that a rule wants', async () => {
    await load(route('geosite = ["shop@none"]'), new FileDigests());
  });
});

test('errors of the document are reported before errors of a list', async () => {
  const error = await errorOf(`${route('geoip = ["zz"]')}\ncidr = ["x"]`);
  assert.match(error.message, /^invalid cidr/);
});

test('geo matchers are kept as written', async () => {
  const { spec } = await load(
    route('geoip = ["!xX", "XX"]\ngeosite = ["Shop", "shop@A@b"]'),
    new FileDigests(),
  );
  const [first] = spec.route.rules;
  assert.deepEqual(first?.geoip, [
    { code: 'xX', negate: true },
    { code: 'XX', negate: false },
  ]);
  assert.deepEqual(first.geosite, [
    { code: 'Shop', attribute: undefined },
    { code: 'shop', attribute: 'A@b' },
  ]);
  assert.deepEqual(ruleOf('geoip = []').geoip, []);
});
