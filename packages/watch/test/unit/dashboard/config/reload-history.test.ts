import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LastReload } from '@weir/server/control';
import { ReloadHistory } from '../../../../src/dashboard/config/config-state.ts';

const unchanged = { status: 'unchanged' } as const;
const statusOf = (at: number): LastReload => ({
  at,
  outcome: { kind: 'unchanged' },
  place: null,
});
const shown = (history: ReloadHistory): unknown =>
  history.entries.map(({ by, outcome }) => [by, outcome]);

describe('a reload that this dashboard requested is one entry of the history', () => {
  test('whose status follows its response', () => {
    const history = new ReloadHistory();
    history.own(1_000, history.begin('reload'), unchanged);
    history.seen(statusOf(999));
    assert.deepEqual(shown(history), [['reload', 'unchanged']]);
  });

  test('whose status is read before its response arrives', () => {
    const history = new ReloadHistory();
    const own = history.begin('reload');
    history.seen(statusOf(999));
    history.own(1_000, own, unchanged);
    assert.deepEqual(shown(history), [['reload', 'unchanged']]);
  });

  test('whose status is read after another one', () => {
    const history = new ReloadHistory();
    history.own(1_000, history.begin('reload'), { failure: 'refused' });
    history.own(1_010, history.begin('restore'), unchanged);
    history.seen({ at: 999, outcome: { kind: 'failed', line: 'refused' }, place: null });
    history.seen(statusOf(1_009));
    assert.deepEqual(shown(history), [
      ['restore', 'unchanged'],
      ['reload', 'failed'],
    ]);
  });

  test('of which only the last of several is seen', () => {
    const history = new ReloadHistory();
    history.own(1_000, history.begin('reload'), { failure: 'refused' });
    history.own(1_010, history.begin('restore'), unchanged);
    history.seen(statusOf(1_009));
    history.seen({ at: 1_100, outcome: { kind: 'failed', line: 'refused' }, place: null });
    assert.deepEqual(shown(history), [
      [null, 'failed'],
      ['restore', 'unchanged'],
      ['reload', 'failed'],
    ]);
  });

  test('of which only the last of several with the same outcome is seen', () => {
    const history = new ReloadHistory();
    history.own(1_000, history.begin('reload'), unchanged);
    history.own(1_010, history.begin('restore'), unchanged);
    history.seen(statusOf(1_009));
    history.seen(statusOf(1_100));
    assert.deepEqual(shown(history), [
      [null, 'unchanged'],
      ['restore', 'unchanged'],
      ['reload', 'unchanged'],
    ]);
  });

  test('beside those of others before and after it', () => {
    const history = new ReloadHistory();
    history.seen(statusOf(900));
    const own = history.begin('reload');
    history.seen(statusOf(999));
    history.own(1_000, own, unchanged);
    history.seen(statusOf(1_100));
    assert.deepEqual(shown(history), [
      [null, 'unchanged'],
      ['reload', 'unchanged'],
      [null, 'unchanged'],
    ]);
    assert.deepEqual(
      history.entries.map(({ id }) => id),
      [3, 2, 1],
    );
  });

  test('and not one with another outcome', () => {
    const history = new ReloadHistory();
    const own = history.begin('reload');
    history.seen(statusOf(999));
    history.own(1_000, own, { failure: 'no response' });
    assert.deepEqual(shown(history), [
      ['reload', 'failed'],
      [null, 'unchanged'],
    ]);
  });
});
