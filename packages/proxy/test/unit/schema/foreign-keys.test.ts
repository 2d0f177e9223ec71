import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foreignKeyHint } from '../../../src/schema/foreign-keys.ts';

test('a key of another program is named as it is called here, where the table has it', () => {
  assert.equal(
    foreignKeyHint('ServerName', ['server_name']),
    '`ServerName` is called `server_name` here',
  );
  assert.match(
    foreignKeyHint('skip-cert-verify', ['allow_insecure']) ?? '',
    /`allow_insecure` here$/,
  );
  assert.match(foreignKeyHint('type', ['network']) ?? '', /`network` here$/);
  assert.match(foreignKeyHint('type', ['network', 'protocol']) ?? '', /`protocol` here$/);
  assert.equal(foreignKeyHint('sni', ['port']), undefined);
});

test('a key of a feature that Weir does not have has its reason', () => {
  assert.match(foreignKeyHint('alterId', []) ?? '', /leave it out/);
});

test('any other key has no hint, the names of properties of objects included', () => {
  for (const name of ['constructor', '__proto__', 'toString', 'other', '']) {
    assert.equal(foreignKeyHint(name, ['server_name', name]), undefined);
  }
});
