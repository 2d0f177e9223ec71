import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  dialPhases,
  expectedSteps,
  failedPhase,
  medians,
  type ProbeTry,
} from '../../../src/probe/contract.ts';
import type { DialTimes } from '@weir/io';
import type { OutboundStreamSpec } from '@weir/proxy/spec';
import { outboundSpec } from '../../../../../test/support/data/specs.ts';

const TLS = { serverName: 'a', allowInsecure: false, ca: undefined };
const raw = { kind: 'raw' } as const;
const ws = (earlyData: number) => ({ kind: 'ws', path: '/', host: 'a', earlyData }) as const;
const steps = (protocol: string, stream?: OutboundStreamSpec) =>
  expectedSteps(outboundSpec('out', { protocol, stream }));

test('the phase of a failure is the first that has not ended', () => {
  const bare = steps('socks');
  const secure = steps('trojan', { carrier: raw, tls: TLS });
  const carried = steps('vless', { carrier: ws(0), tls: TLS });
  const early = steps('vless', { carrier: ws(2048), tls: TLS });
  const quic = steps('hysteria2');
  const tunnel = steps('wireguard');
  const [resolved, connected, secured] = [1, 2, 3];
  for (const [expected, times, phase] of [
    [bare, {}, 'resolve'],
    [bare, { resolved }, 'dial'],
    [bare, { resolved, connected }, 'first_byte'],
    [secure, { resolved, connected }, 'handshake'],
    [secure, { resolved, connected, secured }, 'first_byte'],
    [carried, { resolved, connected, secured }, 'handshake'],
    [early, { resolved, connected, secured }, 'first_byte'],
    [quic, {}, 'resolve'],
    [quic, { resolved }, 'handshake'],
    [quic, { resolved, secured }, 'handshake'],
    [quic, { reused: 0 }, 'first_byte'],
    [tunnel, { resolved }, 'handshake'],
  ] as const) {
    assert.equal(failedPhase(times satisfies DialTimes, expected), phase, JSON.stringify(times));
  }
});

test('what a dial has taken is divided among its phases', () => {
  const secure = steps('trojan', { carrier: raw, tls: TLS });
  assert.deepEqual(dialPhases({ resolved: 1, connected: 11, secured: 31, opened: 32 }, secure), {
    resolve_ms: 1,
    dial_ms: 10,
    handshake_ms: 20,
  });
  assert.deepEqual(dialPhases({ resolved: 2, opened: 9 }, steps('wireguard')), {
    resolve_ms: 2,
    dial_ms: null,
    handshake_ms: 7,
  });
  assert.deepEqual(dialPhases({ reused: 0, opened: 5 }, steps('hysteria2')), {
    resolve_ms: null,
    dial_ms: null,
    handshake_ms: null,
  });
});

test('medians are of the tries that have succeeded and have the phase', () => {
  const one = (ok: boolean, first: number, second: number | null): ProbeTry => ({
    ok,
    reused: false,
    resolve_ms: null,
    dial_ms: 1,
    handshake_ms: null,
    first_byte_ms: first,
    second_ms: second,
    status: 204,
    phase: null,
    error: null,
  });
  const tries = [one(true, 30, 5), one(false, 1000, 1), one(true, 10, null), one(true, 20, 8)];
  assert.deepEqual(medians(tries), {
    resolve_ms: null,
    dial_ms: 1,
    handshake_ms: null,
    first_byte_ms: 20,
    second_ms: 6.5,
  });
});
