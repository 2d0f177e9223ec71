import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { systemResolvers } from '../../../../src/dns/system/system-resolvers.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';

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
