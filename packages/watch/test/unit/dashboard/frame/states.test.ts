import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differingVersions } from '../../../../src/dashboard/frame/frame-topic.ts';
import { VERSION } from '@weir/base';

test('a running Weir of the same version and another commit differs, and so does one that says none', () => {
  const own = { commit: 'aaaaaaaaaaaa', date: '2026-11-28' };
  const other = { commit: 'bbbbbbbbbbbb', date: '2026-11-01' };
  const state = (
    status: Parameters<typeof differingVersions>[1],
    build: typeof own | undefined = own,
  ) => differingVersions(VERSION, status, build);
  assert.equal(state({ build: { ...own, date: null } }), undefined);
  assert.deepEqual(state({ build: other }), {
    kind: 'versions-differ',
    running: `${VERSION} (bbbbbbbbbbbb of 2026-11-01)`,
    own: `${VERSION} (aaaaaaaaaaaa of 2026-11-28)`,
  });
  assert.deepEqual(state({}), {
    kind: 'versions-differ',
    running: `${VERSION} (an earlier build)`,
    own: `${VERSION} (aaaaaaaaaaaa of 2026-11-28)`,
  });
  // What is not known differs from nothing.
  assert.equal(state({ build: null }), undefined);
  assert.equal(state(undefined), undefined);
  assert.equal(differingVersions(VERSION, { build: other }, undefined), undefined);
});
