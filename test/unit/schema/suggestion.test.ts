import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suggestion } from '../../../src/schema/suggestion.ts';

const CHOICES = [
  'routes',
  'reload',
  'connections',
  'close',
  'traffic',
  'freedom',
  'vless',
  'vmess',
];

for (const [word, meant] of [
  ['route', 'routes'],
  ['relaod', 'reload'],
  ['Connections', 'connections'],
  ['conn', 'connections'],
  ['vles', 'vless'],
  ['fredom', 'freedom'],
  ['zzz', undefined],
  ['', undefined],
  ['x'.repeat(100_000), undefined],
] as const) {
  test(`${JSON.stringify(word.slice(0, 20))} may mean ${meant ?? 'nothing known'}`, () =>
    assert.equal(suggestion(word, CHOICES), meant));
}
