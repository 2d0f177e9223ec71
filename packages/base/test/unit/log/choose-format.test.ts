import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseFormat, isJournal, type LogEnvironment } from '../../../src/log/line-format.ts';

const FILE: LogEnvironment = {
  terminal: false,
  journal: false,
  wanted: undefined,
  noColour: undefined,
};
const TIME = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z';

const lineOf = (around: Partial<LogEnvironment>, message = 'ready') =>
  chooseFormat({ ...FILE, ...around }).format('info', 'svc_app', message);

test('a file gets the time, the level and the target as text', () => {
  assert.match(lineOf({}), new RegExp(`^${TIME}  INFO svc_app: ready\n$`));
  assert.match(lineOf({ wanted: 'text' }), new RegExp(`^${TIME}  INFO svc_app: ready\n$`));
});

test('a terminal gets colours, unless NO_COLOR is set to anything but the empty string', () => {
  assert.ok(lineOf({ terminal: true }).includes('\x1b[32m INFO\x1b[0m'));
  assert.ok(lineOf({ terminal: true, noColour: '' }).includes('\x1b[32m'));
  assert.match(lineOf({ terminal: true, noColour: '0' }), new RegExp(`^${TIME}  INFO`));
});

test('a journal gets the priority of each line and no time', () => {
  assert.equal(lineOf({ journal: true }), '<6>INFO svc_app: ready\n');
  const { format } = chooseFormat({ ...FILE, journal: true });
  const priorities = (['error', 'warn', 'info', 'debug', 'trace'] as const).map((level) =>
    format(level, 't', 'm').slice(0, 3),
  );
  assert.deepEqual(priorities, ['<3>', '<4>', '<6>', '<7>', '<7>']);
  assert.equal(
    format('error', 'svc_app', 'internal error: a\n    at b\n'),
    '<3>ERROR svc_app: internal error: a\n<3>    at b\n',
  );
});

test('WEIR_LOG=json gives an object on a line, whatever the message holds', () => {
  const message = 'a "quoted" line\nand \u{1b} another\u2028';
  const line = lineOf({ wanted: 'json', terminal: true }, message);
  assert.equal(line.indexOf('\n'), line.length - 1);
  const { time, ...rest } = JSON.parse(line) as Record<string, unknown>;
  assert.match(String(time), new RegExp(`^${TIME}$`));
  assert.deepEqual(rest, { level: 'info', target: 'svc_app', message });
  assert.match(lineOf({ wanted: 'json', journal: true }), /^<6>\{"time":.*\}\n$/);
});

test('an unknown WEIR_LOG gives text and a problem to report', () => {
  const { format, problem } = chooseFormat({ ...FILE, wanted: 'jsno' });
  assert.match(format('info', 't', 'm'), / INFO t: m\n$/);
  assert.equal(problem, 'WEIR_LOG="jsno" is neither "json" nor "text": writing text');
  for (const wanted of [undefined, '', 'json', 'text']) {
    assert.equal(chooseFormat({ ...FILE, wanted }).problem, undefined);
  }
});

test('JOURNAL_STREAM names the journal by its device and inode', () => {
  const numbers = { dev: 8n, ino: 12345n };
  assert.equal(isJournal('8:12345', numbers), true);
  assert.equal(isJournal('8:12346', numbers), false);
  assert.equal(isJournal(undefined, numbers), false);
});
