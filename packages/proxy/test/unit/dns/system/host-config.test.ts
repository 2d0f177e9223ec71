import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { readHosts, hostSources } from '../../../../src/dns/system/host-config.ts';

const read = async (text: string) => Object.fromEntries(await readHosts(Readable.from([text])));

test('names have the addresses of all their lines, in order and each once', async () => {
  const text = `127.0.0.1 localhost
# 192.0.2.66 commented.example
192.0.2.1\tWWW.example. www # both names
2001:DB8::1   www.example
192.0.2.1 www.example
0.0.0.0 ads.example\r
fe80::1%eth0 router.example
`;
  assert.deepEqual(await read(text), {
    localhost: ['127.0.0.1'],
    'www.example': ['192.0.2.1', '2001:db8::1'],
    www: ['192.0.2.1'],
    'ads.example': ['0.0.0.0'],
    'router.example': ['fe80::1%eth0'],
  });
});

test('lines that mean nothing are passed over', async () => {
  assert.deepEqual(await read('nonsense a.example\n192.0.2.1\n\n192.0.2.1 a..b 127.1\n# end'), {});
});

test('a name has a bounded number of addresses', async () => {
  const lines = Array.from({ length: 100 }, (_, i) => `192.0.2.${i} a.example`);
  assert.equal((await read(lines.join('\n')))['a.example']?.length, 32);
});

test('a file that fails while it is read is a failure, not a short list', async () => {
  const failing = Readable.from(
    (function* () {
      yield '192.0.2.1 a.example\n';
      throw new Error('the disk is gone');
    })(),
  );
  await assert.rejects(readHosts(failing), { message: 'the disk is gone' });
});

const USUAL: Readonly<Record<string, readonly string[]>> = {
  'hosts: files dns': ['files', 'dns'],
  '# hosts: nis\npasswd: files\n\thosts:\tfiles dns # as ever': ['files', 'dns'],
  'hosts: files mdns4_minimal [NOTFOUND=return] dns': ['files', 'mdns4_minimal', 'dns'],
  'hosts: mymachines resolve [!UNAVAIL=return] files myhostname dns': [
    'mymachines',
    'resolve',
    'files',
    'myhostname',
    'dns',
  ],
  'passwd: files': ['files', 'dns'],
};

for (const [text, sources] of Object.entries(USUAL)) {
  test(`${JSON.stringify(text)} is read`, () => {
    assert.deepEqual([...(hostSources(text) ?? [])], sources);
  });
}

test('a missing file means the hosts file and DNS', () => {
  assert.deepEqual([...(hostSources(undefined) ?? [])], ['files', 'dns']);
});

const UNUSUAL = [
  'hosts: dns files',
  'hosts: files',
  'hosts:',
  'hosts: dns',
  'hosts: files nis dns',
  'hosts: files [NOTFOUND=return] dns',
  'hosts: files dns [!UNAVAIL=return] sss',
  'hosts: files mdns4_minimal [SUCCESS=continue] dns',
  'hosts: files resolve [ UNAVAIL=return ] dns',
];

for (const text of UNUSUAL) {
  test(`${JSON.stringify(text)} is left to the C library`, () => {
    assert.equal(hostSources(text), undefined);
  });
}
