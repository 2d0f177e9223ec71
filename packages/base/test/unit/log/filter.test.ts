import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  chooseFilter,
  filterText,
  type LogLevel,
  parseFilter,
  passes,
} from '../../../src/log/logger.ts';

const LEVELS: readonly LogLevel[] = ['error', 'warn', 'info', 'debug', 'trace'];

/** Which levels of a target a filter shows. */
const shown = (environment: string | undefined, level: string, target = 'svc_app'): string =>
  LEVELS.filter((each) => passes(chooseFilter(environment, level), target, each)).join(' ');

const ALL = LEVELS.join(' ');

describe('[log].level', () => {
  const cases: readonly [level: string, expected: string][] = [
    ['off', ''],
    ['error', 'error'],
    ['warn', 'error warn'],
    ['info', 'error warn info'],
    ['debug', 'error warn info debug'],
    ['trace', ALL],
    ['0', ''],
    ['1', 'error'],
    ['2', 'error warn'],
    ['3', 'error warn info'],
    ['4', 'error warn info debug'],
    ['5', ALL],
    ['OFF', ''],
    ['INFO', 'error warn info'],
    ['Warn', 'error warn'],
    ['  info  ', 'error warn info'],
    // A word that is no level is a target, and nothing else is shown.
    ['warning', ''],
    ['6', ''],
    // Nothing that parses: errors only.
    ['', 'error'],
    [' , ', 'error'],
    ['=,,', 'error'],
    ['a=b=c', 'error'],
    ['svc_app=loud', 'error'],
    ['two words', 'error'],
    // What parses counts, the rest is passed over.
    ['info,a=b=c', 'error warn info'],
    ['svc_app', ALL],
    ['svc_app=', ALL],
    ['info,svc_app=error', 'error'],
    ['info,svc_app=off', ''],
    ['error,svc_app=info', 'error warn info'],
    ['other=trace', ''],
    ['off,svc_app=warn', 'error warn'],
    ['svc_app=error,info', 'error'],
    ['svc=debug', 'error warn info debug'],
    ['info,svc_app[request]=trace', 'error warn info'],
  ];
  for (const [level, expected] of cases) {
    test(`${JSON.stringify(level)} shows ${expected === '' ? 'nothing' : expected}`, () => {
      assert.equal(shown(undefined, level), expected);
    });
  }

  test('the longest target that fits decides', () => {
    const level = 'warn,svc_app=info,svc_app::instance=error';
    assert.equal(shown(undefined, level, 'svc_app'), 'error warn info');
    assert.equal(shown(undefined, level, 'svc_app::instance'), 'error');
    assert.equal(shown(undefined, level, 'elsewhere'), 'error warn');
  });
});

describe('RUST_LOG', () => {
  test('replaces the level when it parses', () => {
    assert.equal(shown('debug', 'error'), 'error warn info debug');
    assert.equal(shown('other=trace', 'info'), '');
  });
  test('shows nothing when it is empty', () => {
    assert.equal(shown('', 'trace'), '');
  });
  test('is ignored when any part of it does not parse', () => {
    assert.equal(shown('debug,a=b=c', 'warn'), 'error warn');
    assert.equal(shown('svc_app=loud', 'info'), 'error warn info');
  });
});

test('the text of a filter is read as the same filter', () => {
  const texts = [
    'info',
    'off',
    'warn,svc_app=debug',
    'svc_app=off,a=trace,error',
    'a[x]=info,a=warn',
  ];
  for (const text of texts) {
    const filter = parseFilter(text);
    assert.deepEqual(parseFilter(filterText(filter)).directives, filter.directives);
  }
  assert.equal(filterText(chooseFilter('', 'info')), 'off', 'nothing is logged');
  assert.equal(filterText(chooseFilter(undefined, 'svc_app')), 'svc_app=trace');
});
