import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseBackend, type Implementations } from '../../src/choose-backend.ts';

const IMPLEMENTATIONS: Implementations<string> = {
  baseline: 'baseline',
  open: () => 'fast',
  agrees: () => true,
  checked: (subject, truth) => `${subject} checked by ${truth}`,
};

test('the fast implementation is chosen when it agrees with the baseline', () => {
  assert.equal(chooseBackend(IMPLEMENTATIONS, undefined), 'fast');
  assert.equal(chooseBackend({ ...IMPLEMENTATIONS, agrees: () => false }, undefined), 'baseline');
});

test('a machine without native functions uses the baseline', () => {
  const open = (): string => {
    throw new Error('missing');
  };
  assert.equal(chooseBackend({ ...IMPLEMENTATIONS, open }, ''), 'baseline');
  assert.equal(
    chooseBackend({ ...IMPLEMENTATIONS, open }, 'checked'),
    'baseline checked by baseline',
  );
});

test('without a checked implementation WEIR_CRYPTO=checked chooses the fast one', () => {
  const { checked: _, ...hash } = IMPLEMENTATIONS;
  assert.equal(chooseBackend(hash, 'checked'), 'fast');
});

test('WEIR_CRYPTO=checked compares with the baseline, and =baseline opens nothing', () => {
  assert.equal(chooseBackend(IMPLEMENTATIONS, 'checked'), 'fast checked by baseline');
  const open = (): string => assert.fail('native functions were opened');
  assert.equal(chooseBackend({ ...IMPLEMENTATIONS, open }, 'baseline'), 'baseline');
});
