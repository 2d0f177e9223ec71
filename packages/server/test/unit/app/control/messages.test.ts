import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  isTunnelRequest,
  isUserFlowsRequest,
  toDrainAction,
  toDrainReport,
  toLoadedFiles,
  toLogEvent,
  toLogRequest,
  toOutcome,
  toProfileRequest,
  toProfileResponse,
  toTunnelResponse,
  toUserFlows,
} from '../../../../src/app/control/messages.ts';

/** Messages of each kind, and what is none: each parser returns a message as it is, and `undefined` for the rest. */
const KINDS: readonly (readonly [
  what: string,
  parse: (value: unknown) => unknown,
  valid: readonly unknown[],
  invalid: readonly unknown[],
])[] = [
  [
    'an outcome',
    toOutcome,
    [{ kind: 'applied', summary: '' }, { kind: 'unchanged' }, { kind: 'failed', line: 'x' }],
    [{ kind: 'applied' }, { kind: 'failed', line: 1 }, { kind: 'other' }],
  ],
  [
    'a drain',
    toDrainReport,
    [1, null].map((since) => ({
      kind: 'drain',
      since,
      flows: 2,
      sessions: 3,
      handshakes: 4,
      device_flows: 5,
    })),
    [{ kind: 'drain', since: 'x', flows: 2, sessions: 3, handshakes: 4, device_flows: 5 }],
  ],
  [
    'loaded files',
    toLoadedFiles,
    [{ files: [{ path: '/etc/weir.toml', state: 'changed' }], more: 2 }],
    [
      { files: [] },
      { files: [{ path: 1 }], more: 0 },
      { files: [{ path: '', state: 'x' }], more: 0 },
    ],
  ],
  ['a count of flows', (value) => toUserFlows(value), [], [{ count: 'x' }]],
  [
    'a request for the log',
    toLogRequest,
    [{}, { filter: 'info' }, { tail: true, follow: false }],
    [{ filter: 1 }, { tail: 'x' }, { depth: 1 }],
  ],
  [
    'a request for a profile',
    toProfileRequest,
    [{ seconds: 30, busy: true }],
    [{}, { seconds: 31 }, { seconds: -1 }, { seconds: NaN }],
  ],
  [
    'a profile',
    toProfileResponse,
    [
      { kind: 'profile', profile: null, heap: {}, versions: { node: '1' } },
      { kind: 'failed', line: 'x' },
    ],
    [{ kind: 'profile', profile: 1, heap: {}, versions: {} }, { kind: 'failed' }],
  ],
  [
    'an opened flow',
    toTunnelResponse,
    [
      { kind: 'connected', outbound: 'a', times: { opened: 3 }, suspect: null },
      { kind: 'failed', line: 'x', times: {} },
    ],
    [{ kind: 'connected' }, { kind: 'failed' }],
  ],
];

describe('messages of the control socket', () => {
  for (const [what, parse, valid, invalid] of KINDS) {
    test(`${what} is taken as it is, and anything else is none`, () => {
      for (const message of valid) assert.deepEqual(parse(message), message);
      for (const other of [...invalid, undefined, null, 1, 'x', []]) {
        assert.equal(parse(other), undefined, JSON.stringify(other));
      }
      fc.assert(fc.property(fc.anything(), (value) => void parse(value)));
    });
  }

  test('actions, selections and destinations are checked', () => {
    assert.equal(toDrainAction('show'), 'show');
    for (const text of ['', 'Begin', 'begin now', '__proto__']) {
      assert.equal(toDrainAction(text), undefined);
    }
    assert.ok(isUserFlowsRequest({ inbound: 'a', removed: true, close: false }));
    assert.ok(!isUserFlowsRequest({ inbound: 'a', user: 1, removed: true, close: false }));
    assert.ok(isTunnelRequest({ outbound: 'a', host: 'b', port: 65_535 }));
    for (const port of [0, 65_536, 1.5, NaN, '1']) {
      assert.ok(!isTunnelRequest({ outbound: 'a', host: 'b', port }));
    }
  });

  test('any text is a line of the log or none', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const event = toLogEvent(text);
        assert.ok(event === undefined || typeof event.kind === 'string');
      }),
    );
  });
});
