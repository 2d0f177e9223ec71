import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AskedWindows } from '../../../../src/dashboard/reader/asked-windows.ts';
import { eventually } from '../../../../../../test/support/wait.ts';

test('a window is asked for once a version, and the last one is shown until it is there', async () => {
  const asked: PromiseWithResolvers<string>[] = [];
  let found = 0;
  const windows = new AskedWindows<{ first: number }, string>(
    () => {
      const answer = Promise.withResolvers<string>();
      asked.push(answer);
      return answer.promise;
    },
    () => found++,
  );
  const view = (first: number, version: unknown) => windows.of({ first }, version);
  assert.deepEqual(view(0, undefined), { shown: undefined, pending: false });
  assert.deepEqual(view(0, 1), { shown: undefined, pending: true });
  view(0, 1);
  assert.equal(asked.length, 1);
  asked[0]?.resolve('rows 0');
  await eventually('the window', () => found === 1);
  assert.deepEqual(view(0, 1), { shown: 'rows 0', pending: false });
  assert.deepEqual(view(40, 1), { shown: 'rows 0', pending: true });

  // A later version overtakes the answer to an earlier one.
  assert.deepEqual(view(0, 2), { shown: 'rows 0', pending: true });
  view(0, 3);
  asked[3]?.resolve('newest');
  await eventually('the newest', () => found === 2);
  asked[2]?.resolve('older');
  asked[1]?.reject(new Error('invalid meanwhile'));
  await Promise.allSettled(asked.map(({ promise }) => promise));
  assert.deepEqual(view(0, 3), { shown: 'newest', pending: false });
  assert.equal(found, 2);
  view(40, 1);
  assert.equal(asked.length, 5); // asked again after the failure
});
