import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toControlError } from '../../../src/app/control-errors.ts';
import { failureLine, summaryOf } from '../../../src/app/reload-lines.ts';
import { ConfigError } from '../../../src/config/errors.ts';
import { ApplyError, type ApplyErrorCode } from '../../../src/supervisor/apply-error.ts';
import type { AppliedReport } from '../../../src/supervisor/reload-report.ts';

const NOTHING: AppliedReport = {
  status: 'applied',
  built: [],
  swapped: [],
  drained: [],
  rebound: [],
  restarted: [],
  removed: [],
  reused: [],
};

const lineOf = (error: unknown): string => failureLine(toControlError(error));
const applyLine = (code: ApplyErrorCode, message: string): string =>
  lineOf(new ApplyError(code, message));

test('a summary names what changed in the order of the report and counts the rest', () => {
  assert.equal(summaryOf(NOTHING), 'reused 0');
  const report: AppliedReport = {
    ...NOTHING,
    built: ['outbound a@v2', 'route'],
    swapped: ['s'],
    drained: ['a@v1'],
    rebound: ['h'],
    restarted: ['q'],
    removed: ['old', 'older'],
    reused: ['dns', 'inbound x', 'inbound y'],
  };
  assert.equal(
    summaryOf(report),
    'built outbound a@v2, route; swapped s; drained a@v1; rebound h; restarted q; removed old, older; reused 3',
  );
});

test('a configuration error says that the running one is kept, and where the error stands', () => {
  assert.equal(
    lineOf(new ConfigError('invalid', 'config defines no outbounds')),
    'reload: configuration invalid: config defines no outbounds; keeping the running config',
  );
  const located = new ConfigError('invalid', '[api] secret is empty', {
    location: { file: '/c.toml', line: 3, column: 10 },
  });
  assert.equal(
    lineOf(located),
    'reload: configuration invalid: [api] secret is empty; keeping the running config\n  at /c.toml:3:10',
  );
});

test('an address that cannot be had says that the running configuration is kept', () => {
  assert.equal(
    applyLine('bind', 'inbound s: cannot listen on 127.0.0.1:80: permission denied'),
    'reload: inbound s: cannot listen on 127.0.0.1:80: permission denied; keeping the running config',
  );
});

test('a process that is stopping keeps nothing', () => {
  assert.equal(applyLine('stopped', 'the proxy is stopping'), 'reload: the proxy is stopping');
});

test('a change that would end live connections is a refusal', () => {
  assert.equal(
    applyLine('disruptive', 'inbound q: its port changed'),
    'reload refused, keeping the running config: inbound q: its port changed, which would end its live connections; restart to apply it',
  );
});

test('what is neither is told as it is', () => {
  assert.equal(lineOf(new Error('odd')), 'reload: odd; keeping the running config');
});
