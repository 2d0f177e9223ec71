import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { readHosts } from '../../../../src/dns/system/hosts-file.ts';

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
