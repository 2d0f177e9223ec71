import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ControlError } from '../../../src/api/contract.ts';
import {
  toControlError,
  toReadError,
  reloadFailureLine,
  summaryOf,
} from '../../../src/app/outcomes.ts';
import { ConfigError, DocumentReadError } from '@weir/config';
import {
  type AppliedReport,
  ApplyError,
  type ApplyErrorCode,
} from '../../../src/supervisor/reload-report.ts';

const codeAndText = ({ code, message }: ControlError): [string, string] => [code, message];

describe('an error as its caller gets it', () => {
  test('bad data is invalid, what cannot be read has failed', () => {
    const invalid = new ConfigError('invalid', 'config defines no outbounds');
    assert.deepEqual(codeAndText(toControlError(invalid)), ['invalid', invalid.message]);
    const io = new ConfigError('io', 'cannot read a.toml: permission denied');
    assert.deepEqual(codeAndText(toControlError(io)), ['failed', io.message]);
  });

  const applyCodes: Readonly<Record<ApplyErrorCode, 'invalid' | 'failed'>> = {
    bind: 'failed',
    stopped: 'failed',
    draining: 'failed',
    duplicate_tag: 'invalid',
    unknown_reference: 'invalid',
    bad_balancer: 'invalid',
    invalid_resource: 'invalid',
    build_failed: 'invalid',
    disruptive: 'invalid',
  };
  for (const [code, expected] of Object.entries(applyCodes) as [ApplyErrorCode, string][]) {
    test(`the apply error ${code} is ${expected}`, () => {
      const error = new ApplyError(code, `why: ${code}`);
      assert.deepEqual(codeAndText(toControlError(error)), [expected, `why: ${code}`]);
    });
  }

  test('anything else has failed, with its own text', () => {
    assert.deepEqual(codeAndText(toControlError(new TypeError('x is not y'))), [
      'failed',
      'x is not y',
    ]);
    assert.deepEqual(codeAndText(toControlError('a text')), ['failed', 'a text']);
  });

  test('a control error stays the one it is, and others become its cause', () => {
    const error = new ControlError('stale', 'old', { etag: '"x"' });
    assert.equal(toControlError(error), error);
    const cause = new Error('why');
    assert.equal(toControlError(cause).cause, cause);
  });
});

describe('what an error of reading the files is', () => {
  const missing = new DocumentReadError('io', 'subscribe file /s.toml: no such file or directory');
  const unnamed = new DocumentReadError(
    'invalid',
    '[subscribe] needs a path naming the subscribe file',
  );

  test('what cannot be read is prefixed with the path alone', () => {
    assert.deepEqual(codeAndText(toReadError(missing, '/c.toml')), [
      'failed',
      '/c.toml: subscribe file /s.toml: no such file or directory',
    ]);
    assert.deepEqual(codeAndText(toReadError(unnamed, '/c.toml')), [
      'invalid',
      '/c.toml: [subscribe] needs a path naming the subscribe file',
    ]);
  });

  test('what reads and does not parse has no prefix', () => {
    const parse = new ConfigError('invalid', 'TOML parse error at line 1, column 1\n…');
    assert.deepEqual(codeAndText(toReadError(parse, '/c.toml')), ['invalid', parse.message]);
  });

  test('without a path there is nothing to prefix', () => {
    assert.deepEqual(codeAndText(toReadError(missing, undefined)), ['failed', missing.message]);
  });
});

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

const lineOf = (error: unknown): string => reloadFailureLine(toControlError(error));
const applyLine = (code: ApplyErrorCode, message: string): string =>
  lineOf(new ApplyError(code, message));

test('a summary names what changed in the order of the report and counts the rest', () => {
  assert.equal(summaryOf(NOTHING), 'nothing that runs has changed');
  const report: AppliedReport = {
    ...NOTHING,
    built: ['outbound a@v2', 'route', 'user set u'],
    swapped: ['s', 'u'],
    drained: ['a@v1'],
    rebound: ['h'],
    restarted: ['q'],
    removed: ['old', 'older'],
    reused: ['dns', 'inbound x', 'inbound y'],
  };
  assert.equal(
    summaryOf(report),
    'built outbound a@v2, route, users of u; changed in place: inbound s; ends with its last flow: outbound a@v1; listens elsewhere: inbound h; restarted: inbound q; removed: inbound old, inbound older; 3 unchanged',
  );
});

test('the line of a configuration error reports that the running one is kept, and the place of the error', () => {
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

test('the line of an address that cannot be bound reports that the running configuration is kept', () => {
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
    applyLine('disruptive', 'inbound q: its port changed; restart to apply it'),
    'reload refused, keeping the running config: inbound q: its port changed; restart to apply it',
  );
});

test('any other error is logged with its message', () => {
  assert.equal(lineOf(new Error('odd')), 'reload: odd; keeping the running config');
});
