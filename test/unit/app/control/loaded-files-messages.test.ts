import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { toLoadedFiles } from '../../../../src/app/control/loaded-files-messages.ts';

const FILE = { path: '/etc/weir.toml', state: 'changed' };

test('a response of loaded-files is taken as it is, and anything else is none', () => {
  assert.deepEqual(toLoadedFiles({ files: [FILE], more: 2 }), { files: [FILE], more: 2 });
  for (const bad of [null, 'x', {}, { files: [FILE] }, { files: [{ path: 1 }], more: 0 }]) {
    assert.equal(toLoadedFiles(bad), undefined);
  }
  const odd = { files: [{ path: '/a', state: 'other' }], more: 0 };
  assert.equal(toLoadedFiles(odd), undefined);
});

test('any value is a response or none', () => {
  const state = fc.oneof(fc.constantFrom('same', 'changed'), fc.string());
  const file = fc.oneof(fc.record({ path: fc.string(), state }), fc.anything());
  const response = fc.record({ files: fc.array(file), more: fc.oneof(fc.nat(), fc.anything()) });
  fc.assert(
    fc.property(fc.oneof(response, fc.anything()), (value) => {
      const parsed = toLoadedFiles(value);
      for (const { path, state: is } of parsed?.files ?? []) {
        assert.equal(typeof path, 'string');
        assert.ok(is === 'same' || is === 'changed');
      }
    }),
  );
});
