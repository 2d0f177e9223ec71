import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { systemClock } from '../../../../src/net/time/clock.ts';

test('the system clock takes a time that has just passed without a warning of Node', async () => {
  const names: string[] = [];
  const note = ({ name }: Error): void => void names.push(name);
  process.on('warning', note);
  try {
    const { promise, resolve } = Promise.withResolvers<void>();
    systemClock.after(-0.001, resolve);
    // A warning of this test's own comes after any that the timer caused.
    const warned = once(process, 'warning');
    process.emitWarning('the last one', 'OwnWarning');
    await Promise.all([promise, warned]);
    assert.deepEqual(names, ['OwnWarning']);
  } finally {
    process.off('warning', note);
  }
});
