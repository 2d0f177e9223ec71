import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chooseFilter, parseFilter } from '../../../src/log/logger.ts';
import { jsonFormat, withPriority, type LineFormat } from '../../../src/log/line-format.ts';
import { createLogger, FilterSwitch, recordLines } from '../../../src/log/output.ts';

const bare: LineFormat = (level, target, message) => `${level} ${target}: ${message}\n`;

function open(level: string, format: LineFormat = bare) {
  const lines: string[] = [];
  const filter = new FilterSwitch(chooseFilter(undefined, level));
  const log = createLogger(filter, { write: (line) => void lines.push(line) }, format, 'app');
  return { log, lines, filter };
}

describe('a logger', () => {
  test('writes text of others escaped, on one line', () => {
    const { log, lines } = open('info');
    log.info('a\u001b[2J\u009b31m\u202e\r\n2026-11-20T12:27:48.123456Z  INFO app: forged');
    assert.deepEqual(lines, [
      String.raw`info app: a\u{1b}[2J\u{9b}31m\u{202e}\u{d}\u{a}2026-11-20T12:27:48.123456Z  INFO app: forged` +
        '\n',
    ]);
  });

  test('writes the lines of a record, none of which can be taken for another record', () => {
    const { log, lines } = open('info');
    const forged = [
      '2026-11-20T12:27:48.123456Z  INFO app: x',
      '{"level":"info"}',
      'INFO x',
      '<6>y',
    ];
    log.error(recordLines(`TOML parse error\n  |\n\tkey\u001b\n${forged.join('\n')}`));
    assert.deepEqual(lines.join('').trimEnd().split('\n'), [
      'error app: TOML parse error',
      '  |',
      String.raw`	key\u{1b}`,
      ...forged.map((line) => `  ${line}`),
    ]);
  });

  test('keeps joiners, with which names are written', () => {
    const { log, lines } = open('info');
    log.info('👩\u200d💻 می\u200cخواهم');
    assert.deepEqual(lines, ['info app: 👩\u200d💻 می\u200cخواهم\n']);
  });

  test('follows its filter when that is exchanged, with the loggers of other targets', () => {
    const { log, lines, filter } = open('warn');
    const other = log.target('app::part');
    const write = (): void => {
      for (const each of [log, other]) each.debug('x');
    };
    write();
    filter.set(parseFilter('info,app::part=debug'));
    write();
    assert.equal(log.enabled('debug'), false);
    filter.set(parseFilter('off'));
    write();
    assert.deepEqual(lines, ['debug app::part: x\n']);
  });

  test('writes fields into JSON, without those that have no value', () => {
    const { log, lines } = open('info', jsonFormat);
    log.info('m', { inbound: 'socks', port: 443, rule: undefined });
    const { time, ...rest } = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
    assert.equal(typeof time, 'string');
    assert.deepEqual(rest, {
      level: 'info',
      target: 'app',
      message: 'm',
      inbound: 'socks',
      port: 443,
    });
  });

  test('gives every line of a record the priority of its level', () => {
    const { log, lines } = open('info', withPriority(bare));
    log.error(['first', 'second']);
    assert.deepEqual(lines, ['<3>error app: first\n<3>second\n']);
  });
});

describe('a filter for a running process', () => {
  for (const [text, reason] of [
    ['', /is empty/],
    ['info,=', /"=" is not a log filter/],
    ['warning', /"warning" is not a log filter: expected off/],
    ['a=nonsense', /"a=nonsense" is not a log filter/],
  ] as const) {
    test(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseFilter(text), reason);
    });
  }
});
