import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiSocketFor } from '../../../../src/app/control/control-folder.ts';

test('the socket of an API is where the process that serves the file can make it', () => {
  assert.equal(apiSocketFor('/home/ann/home.server.toml'), '/home/ann/home.server.api.sock');
  assert.equal(apiSocketFor('/home/ann/weir'), '/home/ann/weir.api.sock');
  assert.equal(apiSocketFor('/etc/weir/weir.toml'), '/run/weir/api.sock', 'a service reads /etc');
  const folder = `/${'a'.repeat(95)}`;
  assert.equal(apiSocketFor(`${folder}/w.toml`), `${folder}/w.api.sock`, 'of 107 bytes');
  assert.equal(apiSocketFor(`${folder}a/w.toml`), undefined);
});
