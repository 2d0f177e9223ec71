import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  parseResolvConf,
  searchNames,
  systemResolvers,
} from '../../../../src/dns/system/system-resolvers.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';

const bare = { localDomain: undefined, resOptions: undefined, hostname: 'box' };
const parse = (text: string, surroundings = {}) =>
  parseResolvConf(text, { ...bare, ...surroundings });

test('every keyword and option is read', () => {
  const text = `# comment
; nameserver 192.0.2.66
nameserver 192.0.2.53
nameserver\t2001:db8::53
nameserver not-an-address
nameserver fe80::1%eth0
nameserver 192.0.2.54
domain other.example
search Corp.example. sub.corp.example .
options ndots:5 timeout:3 attempts:4 rotate
options edns0 trust-ad no-aaaa`;
  assert.deepEqual(parse(text), {
    nameservers: ['192.0.2.53', '2001:db8::53', 'fe80::1%eth0'],
    search: ['corp.example', 'sub.corp.example'],
    ndots: 5,
    rounds: [3000, 3000, 3000, 3000],
    rotate: true,
    noAaaa: true,
  });
});

test('what is left out has the usual values', () => {
  assert.deepEqual(parse('nameserver 192.0.2.53\r\n'), {
    nameservers: ['192.0.2.53'],
    search: [],
    ndots: 1,
    rounds: [1000, 2000, 4000],
    rotate: false,
    noAaaa: false,
  });
  assert.deepEqual(parse('nameserver ::1\noptions timeout:2')?.rounds, [2000, 2000]);
  assert.deepEqual(parse('nameserver ::1\noptions attempts:1')?.rounds, [5000]);
});

test('values beyond the limits of the C library are reduced to them', () => {
  const read = parse('nameserver ::1\noptions ndots:99 timeout:0 timeout:999 attempts:99');
  assert.deepEqual([read?.ndots, read?.rounds], [15, Array.from({ length: 5 }, () => 30_000)]);
});

test('the environment and the name of the host fill in', () => {
  const text = 'nameserver ::1\nsearch a.example\noptions ndots:1';
  const search = (written: string, surroundings: object) => parse(written, surroundings)?.search;
  assert.deepEqual(search('nameserver ::1', { hostname: 'box.lan.example' }), ['lan.example']);
  assert.deepEqual(search(text, { hostname: 'box.lan.example' }), ['a.example']);
  assert.deepEqual(search(text, { localDomain: 'b.example c.example' }), [
    'b.example',
    'c.example',
  ]);
  assert.equal(parse(text, { resOptions: 'ndots:3' })?.ndots, 3);
});

test('what only the C library can do is left to it', () => {
  for (const text of ['', 'search a', 'nameserver ::1\nsortlist 192.0.2.0']) {
    assert.equal(parse(text), undefined);
  }
  assert.equal(parse('nameserver ::1\noptions use-vc'), undefined);
});

test('names with enough dots are asked as they are first, others last', () => {
  const conf = parse('nameserver ::1\nsearch a.example b.example\noptions ndots:2');
  assert.ok(conf);
  assert.deepEqual(searchNames('x.y.z', conf), ['x.y.z', 'x.y.z.a.example', 'x.y.z.b.example']);
  assert.deepEqual(searchNames('x.y', conf), ['x.y.a.example', 'x.y.b.example', 'x.y']);
  const long = `${'a.'.repeat(122)}example`;
  assert.deepEqual(searchNames(long, conf), [long], 'what would be too long is left out');
});

/** What is found on a system with these files. */
async function found(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  await using folder = await scratch();
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder.path, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return (await systemResolvers(folder.path)).map(({ address }) => address);
}

const STUB = { 'etc/resolv.conf': 'nameserver 127.0.0.53\noptions edns0\n' };
const UPSTREAM = {
  'run/systemd/resolve/resolv.conf': 'nameserver 172.19.0.2\nnameserver 192.0.2.1\n',
};
const BOTH = ['172.19.0.2', '192.0.2.1'];

describe('the servers of the resolver of a system', () => {
  test('are the first three of resolv.conf, whatever else it says', async () => {
    const text =
      '# nameserver 192.0.2.9\nsortlist 10.0.0.0\noptions use-vc\nnameserver 192.0.2.1\r\n' +
      'nameserver name\nnameserver fe80::1%eth0\nnameserver\t2001:db8::1\nnameserver 192.0.2.4\n';
    assert.deepEqual(await found({ 'etc/resolv.conf': text }), [
      '192.0.2.1',
      'fe80::1%eth0',
      '2001:db8::1',
    ]);
  });

  test('are not known without files, or with one that is too long or a directory', async () => {
    assert.deepEqual(await found({}), []);
    const long = '#'.repeat(65_536);
    assert.deepEqual(await found({ 'etc/resolv.conf': `nameserver 192.0.2.1\n${long}` }), []);
    assert.deepEqual(await found({ 'etc/resolv.conf/file': '' }), []);
  });

  test('are those of systemd-resolved behind its stub, sixteen at most', async () => {
    assert.deepEqual(await found({ ...STUB, ...UPSTREAM }), BOTH);
    assert.deepEqual(await found(STUB), ['127.0.0.53']);
    const many = Array.from({ length: 40 }, (_, i) => `nameserver 192.0.2.${i}\n`).join('');
    const all = await found({ ...STUB, 'run/systemd/resolve/resolv.conf': many });
    assert.equal(all.length, 16);
  });

  for (const [what, files, expected] of [
    [
      'a drop-in in force',
      { 'etc/systemd/resolved.conf.d/a.conf': '[Resolve]\nDNS=172.19.0.2\nDomains=~.\n' },
      ['172.19.0.2'],
    ],
    [
      'the main file in force',
      { 'etc/systemd/resolved.conf': 'DNS = 172.19.0.2#name\nDomains=lan ~.\n' },
      ['172.19.0.2'],
    ],
    [
      'servers without the domain',
      { 'etc/systemd/resolved.conf': 'DNS=172.19.0.2\n#Domains=~.\n' },
      BOTH,
    ],
    [
      'a domain that a later file takes back',
      {
        'usr/lib/systemd/resolved.conf.d/a.conf': 'DNS=172.19.0.2\nDomains=~.\n',
        'etc/systemd/resolved.conf.d/b.conf': 'Domains=\n',
      },
      BOTH,
    ],
    [
      'a file that one of /etc replaces',
      {
        'usr/lib/systemd/resolved.conf.d/a.conf': 'DNS=172.19.0.2\nDomains=~.\n',
        'etc/systemd/resolved.conf.d/a.conf': '',
      },
      BOTH,
    ],
    [
      'servers that it does not have yet',
      { 'etc/systemd/resolved.conf': 'DNS=192.0.2.77\nDomains=~.\n' },
      BOTH,
    ],
    [
      'a server at another port',
      { 'etc/systemd/resolved.conf': 'DNS=172.19.0.2:54\nDomains=~.\n' },
      BOTH,
    ],
  ] as const) {
    test(`of systemd-resolved are judged by its configuration: ${what}`, async () => {
      assert.deepEqual(await found({ ...STUB, ...UPSTREAM, ...files }), expected);
    });
  }

  test('are those of both where the C library asks systemd-resolved by itself', async () => {
    const files = { ...UPSTREAM, 'etc/resolv.conf': 'nameserver 192.0.2.8\n' };
    assert.deepEqual(
      await found({ ...files, 'etc/nsswitch.conf': 'hosts: files dns # resolve\n' }),
      ['192.0.2.8'],
    );
    const nameSwitch = 'passwd: files\nhosts: mymachines resolve [!UNAVAIL=return] files dns\n';
    assert.deepEqual(await found({ ...files, 'etc/nsswitch.conf': nameSwitch }), [
      '192.0.2.8',
      ...BOTH,
    ]);
  });
});
