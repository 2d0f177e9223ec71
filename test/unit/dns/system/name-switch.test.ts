import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostSources } from '../../../../src/dns/system/name-switch.ts';

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
