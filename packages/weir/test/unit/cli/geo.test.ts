import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { geositeLists, geositeMatches } from '@weir/proxy/geo-files';
import { Router } from '@weir/proxy/router';
import { RegexCache } from '@weir/proxy/names';
import { geoCommand } from '../../../src/cli/config/geo.ts';
import { bytesSource } from '../../../../proxy/src/engine/geo/geo-data.ts';
import { domainList } from '../../../../proxy/src/engine/router/tables/domain-list.ts';
import {
  type DomainFixture,
  encodeGeoip,
  encodeGeosite,
} from '../../../../../test/support/data/geo-fixture.ts';
import { freedom, rule } from '../../../../../test/support/process/config.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const SITES = encodeGeosite([
  {
    code: 'VIDEO',
    domains: [
      { type: 'root', value: 'Video.example', attributes: { ads: true } },
      { type: 'full', value: 'www.video.example', attributes: { cn: true } },
      { type: 'plain', value: 'stream' },
    ],
  },
  { code: 'NUMBERED', domains: [{ type: 'regex', value: '^r[0-9]+\\.' }] },
  { code: 'EMPTY', domains: [] },
]);
const NETWORKS = encodeGeoip([
  { code: 'HERE', networks: [{ ip: [198, 51, 100, 0], prefix: 24 }] },
  { code: 'ELSEWHERE', networks: [{ ip: [198, 51, 100, 0], prefix: 24 }], inverse: true },
  {
    code: 'SIX',
    networks: [{ ip: [0x20, 1, 0xd, 0xb8, ...Array<number>(12).fill(0)], prefix: 32 }],
  },
]);

async function run(...args: readonly string[]) {
  await using folder = await scratch();
  const at = (name: string): string => join(folder.path, name);
  await writeFile(at('geosite.dat'), SITES);
  await writeFile(at('geoip.dat'), NETWORKS);
  await writeFile(at('bad.dat'), 'no list');
  const route = `[route]\ngeosite = ${JSON.stringify(at('geosite.dat'))}\ngeoip = ${JSON.stringify(at('geoip.dat'))}\n`;
  // A rule with an unknown code is no reason not to answer.
  await writeFile(at('weir.toml'), freedom() + route + rule('direct', 'geosite = ["unknown"]'));
  await writeFile(at('none.toml'), freedom());
  const io = { stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
  const own = args.map((word) => (/\.(?:dat|toml)$/.test(word) ? at(word) : word));
  const status = await geoCommand(own, io);
  const textOf = (stream: PassThrough): string =>
    String(stream.read() ?? '').replaceAll(`${folder.path}/`, '');
  return { status, out: textOf(io.stdout), error: textOf(io.stderr) };
}

describe('weir geo', () => {
  test('list: the codes of both files of a configuration', async () => {
    const { status, out } = await run('list', '--config', 'weir.toml');
    assert.equal(status, 0);
    assert.equal(
      out,
      [
        'FILE     CODE       ENTRIES  ATTRIBUTES',
        'geosite  video            3  @ads 1, @cn 1',
        'geosite  numbered         1  -',
        'geosite  empty            0  -',
        'geoip    here             1  -',
        'geoip    elsewhere        1  -',
        'geoip    six              1  -',
        '',
      ].join('\n'),
    );
  });

  test('list --json of one file', async () => {
    const { out } = await run('list', '--geosite', 'geosite.dat', '--json');
    const [first = ''] = out.split('\n');
    assert.deepEqual(JSON.parse(first), {
      file: 'geosite',
      code: 'video',
      entries: 3,
      attributes: { ads: 1, cn: 1 },
    });
  });

  test('lookup: a name with the attributes of its entries', async () => {
    const { status, out } = await run('lookup', 'WWW.video.example.', '--config', 'weir.toml');
    assert.equal(status, 0);
    assert.match(out, /\ngeosite {2}video {2}domain:Video\.example {2}@ads, @cn\n$/);
  });

  for (const [host, codes] of [
    ['video.example', ['video']],
    ['notvideo.example', []],
    ['a-stream.test', ['video']],
    ['r17.test', ['numbered']],
    ['198.51.100.9', ['here']],
    ['::ffff:198.51.100.9', ['here']],
    ['192.0.2.1', ['elsewhere']],
    ['2001:db8::5', ['elsewhere', 'six']],
  ] as const) {
    test(`lookup ${host}: ${codes.join(', ') || 'none'}`, async () => {
      const { status, out } = await run('lookup', host, '--config', 'weir.toml', '--json');
      const found = out.split('\n').filter((line) => line !== '');
      assert.deepEqual(
        found.map((line) => (JSON.parse(line) as { code: string }).code),
        codes,
      );
      assert.equal(status, codes.length > 0 ? 0 : 1);
    });
  }

  for (const [args, reason] of [
    [['list', '--geoip', 'bad.dat'], 'bad.dat: not a geoip file'],
    [['list', '--geoip', 'missing.dat'], 'missing.dat'],
    [['list', '--config', 'none.toml'], 'names no geo file'],
    [['lookup', 'a.example', '--geoip', 'geoip.dat'], 'no geosite file'],
  ] as const) {
    test(`${args.join(' ')} fails`, async () => {
      const { status, out, error } = await run(...args);
      assert.deepEqual([status, out], [1, '']);
      assert.ok(error.includes(reason), error);
    });
  }

  test('a name is in the lists by which the router decides', async () => {
    const label = fc.constantFrom('a', 'b', 'ab', 'r1');
    const name = fc.array(label, { minLength: 1, maxLength: 3 }).map((all) => all.join('.'));
    const domain: fc.Arbitrary<DomainFixture> = fc.record({
      type: fc.constantFrom('plain', 'regex', 'root', 'full'),
      value: name,
    });
    const regexes = new RegexCache();
    await fc.assert(
      fc.asyncProperty(
        fc.array(domain, { minLength: 1, maxLength: 4 }),
        name,
        async (domains, host) => {
          const source = bytesSource(encodeGeosite([{ code: 'X', domains }]));
          const lists = await geositeLists(source, [{ code: 'x', attribute: undefined }]);
          const [list = domainList({})] = lists.values();
          const router = new Router(
            {
              default: 'no',
              rules: [
                {
                  outbound: 'yes',
                  domainSuffix: [],
                  domainKeyword: [],
                  domainFull: [],
                  domainRegex: [],
                  cidr: [],
                  sourceCidr: [],
                  port: [],
                  network: undefined,
                  inboundTag: [],
                  geosite: [{ code: 'x', attribute: undefined }],
                  geoip: [],
                },
              ],
            },
            { regexes, geo: { geosite: new Map([['x', list]]), geoip: new Map() } },
          );
          const query = {
            inbound: '',
            source: undefined,
            network: 'tcp',
            host,
            port: 1,
            sniffed: undefined,
          } as const;
          const found = await Array.fromAsync(geositeMatches(source, host));
          assert.equal(found.length > 0, router.route(query).outbound === 'yes');
        },
      ),
    );
  });
});
