import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { UsageError, WeirError } from '@weir/base';
import { isLoopbackHost } from '@weir/base/ip';
import { parseLocalListen } from '../../../src/local-http/listen-option.ts';
import { TestAuthority } from '../../../../../test/support/data/test-certificates.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const parse = (listen: string) => parseLocalListen({ listen }, '127.0.0.1:0');

describe('--listen', () => {
  for (const [text, host, port] of [
    ['127.0.0.1:8080', '127.0.0.1', 8080],
    ['127.9.9.9:0', '127.9.9.9', 0],
    ['[::1]:65535', '::1', 65_535],
    ['localhost:80', '127.0.0.1', 80],
  ] as const) {
    test(`${text} is this host`, async () => {
      assert.deepEqual(await parse(text), { kind: 'tcp', host, port, tls: undefined });
    });
  }

  test('the standard is used without it', async () => {
    const listen = await parseLocalListen({}, '127.0.0.1:9099');
    assert.equal(listen.kind === 'tcp' && listen.port, 9099);
  });

  test('a path is a unix socket', async () => {
    assert.deepEqual(await parse('/run/weir/page.sock'), {
      kind: 'unix',
      path: '/run/weir/page.sock',
    });
    assert.deepEqual(await parse('unix:page'), { kind: 'unix', path: join(process.cwd(), 'page') });
  });

  for (const text of [
    '0.0.0.0:80',
    '[::]:80',
    '192.0.2.1:80',
    '[::ffff:127.0.0.1]:80',
    '[2001:db8::1]:1',
  ]) {
    test(`${text} needs TLS`, async () => {
      await assert.rejects(parse(text), (error) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, /--tls-certificate FILE and --tls-key FILE/);
        return true;
      });
    });
  }

  for (const text of [
    '',
    '80',
    ':80',
    '127.0.0.1',
    '127.0.0.1:',
    '127.0.0.1:65536',
    '127.1:80',
    '::1:80',
    '[127.0.0.1]:80',
    'weir.example:80',
    'unix:',
    '/a\0b',
  ]) {
    test(`${JSON.stringify(text)} is refused`, () => assert.rejects(parse(text), UsageError));
  }

  test('any text is an address of this host, a path or a usage error', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), async (text) => {
        try {
          const listen = await parse(text);
          assert.ok(listen.kind === 'unix' || isLoopbackHost(listen.host));
        } catch (error) {
          assert.ok(error instanceof UsageError);
        }
      }),
    );
  });
});

describe('TLS', () => {
  test('opens any address', async () => {
    await using folder = await scratch();
    const { certificate, key } = await files(folder.path);
    const listen = await parseLocalListen({ listen: '0.0.0.0:0', certificate, key }, '');
    assert.ok(listen.kind === 'tcp' && listen.tls);
    assert.equal(listen.tls.names.checkHost('weir.example'), 'weir.example');
  });

  test('needs both files, and no unix socket', async () => {
    await assert.rejects(parseLocalListen({ certificate: 'c' }, '127.0.0.1:0'), UsageError);
    await assert.rejects(
      parseLocalListen({ listen: '/a', certificate: 'c', key: 'k' }, ''),
      UsageError,
    );
  });

  test('names the files that cannot be used', async () => {
    await using folder = await scratch();
    const { certificate, key } = await files(folder.path);
    const missing = { certificate: join(folder.path, 'none'), key };
    await assert.rejects(
      parseLocalListen(missing, '127.0.0.1:0'),
      /--tls-certificate .*none: no such file or directory$/,
    );
    const swapped = { certificate: key, key: certificate };
    await assert.rejects(parseLocalListen(swapped, '127.0.0.1:0'), (error) => {
      assert.ok(error instanceof WeirError && error.code === 'tls');
      assert.match(error.message, /--tls-certificate .*key\.pem with --tls-key/);
      return true;
    });
  });
});

async function files(folder: string): Promise<{ certificate: string; key: string }> {
  const issued = new TestAuthority().issue({ dns: ['weir.example'] });
  const certificate = join(folder, 'cert.pem');
  const key = join(folder, 'key.pem');
  await writeFile(certificate, issued.cert);
  await writeFile(key, issued.key);
  return { certificate, key };
}
