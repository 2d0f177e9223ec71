import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiClientError } from '../../../src/client/api-client.ts';
import type { LostCause } from '../../../src/monitor/contract.ts';
import { lostCause } from '../../../src/monitor/lost-cause.ts';

const system = (code: string): Error =>
  new ApiClientError('cannot reach', { cause: Object.assign(new Error(code), { code }) });

const CASES: readonly (readonly [
  what: string,
  error: Error,
  atFirst: LostCause,
  afterwards: LostCause,
])[] = [
  ['a refused connection', system('ECONNREFUSED'), 'refused', 'ended'],
  ['no right', system('EACCES'), 'forbidden', 'forbidden'],
  ['the status 401', new ApiClientError('', { status: 401 }), 'unauthorized', 'unauthorized'],
  ['the status 502', new ApiClientError('', { status: 502 }), 'other-server', 'ended'],
  ['another body', new ApiClientError('', { status: 200 }), 'other-server', 'other-server'],
  [
    'a body that is no JSON',
    new ApiClientError('', { cause: new SyntaxError() }),
    'other-server',
    'other-server',
  ],
  ['an end of the stream', new ApiClientError('ended'), 'other', 'ended'],
];

for (const [what, error, atFirst, afterwards] of CASES) {
  test(`${what} means ${atFirst} at first, and ${afterwards} once Weir was reached`, () => {
    assert.equal(lostCause(error, false), atFirst);
    assert.equal(lostCause(error, true), afterwards);
  });
}
