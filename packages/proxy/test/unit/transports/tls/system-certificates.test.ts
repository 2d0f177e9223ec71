import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { getCACertificates, rootCertificates } from 'node:tls';
import { TestAuthority } from '../../../../../../test/support/data/test-certificates.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';
import { systemCertificates } from '../../../../src/transports/tls/trust-store.ts';

const pem = (): string => new TestAuthority().cert.trim();

test('each certificate of the file and the folder is read once', async () => {
  await using directory = await scratch();
  const { path } = directory;
  const folder = join(path, 'certs');
  mkdirSync(join(folder, 'a folder'), { recursive: true });
  const [one, two, three] = [pem(), pem(), pem()];
  const file = join(path, 'bundle.pem');
  writeFileSync(file, `# one\n${one}\n# two\n${two}\n`);
  writeFileSync(join(folder, 'one.pem'), `${one}\n`);
  writeFileSync(join(folder, 'three.pem'), `text\n${three}\n`);
  symlinkSync('three.pem', join(folder, '12345678.0'));
  symlinkSync('nothing', join(folder, '12345679.0'));
  assert.deepEqual(systemCertificates({ file, folder }), [one, two, three]);
});

test('without certificates there are those of Node', async () => {
  await using directory = await scratch();
  const nowhere = join(directory.path, 'nothing');
  const system = getCACertificates('system');
  const expected = system.length > 0 ? new Set(system).size : rootCertificates.length;
  assert.equal(systemCertificates({ file: nowhere, folder: nowhere }).length, expected);
});

test('a pipe in the folder is not opened', async () => {
  await using directory = await scratch();
  const { path } = directory;
  const [one, pipe] = [pem(), join(path, 'pipe')];
  writeFileSync(join(path, 'one.pem'), one);
  execFileSync('mkfifo', [pipe]);
  assert.deepEqual(systemCertificates({ file: pipe, folder: path }), [one]);
});
