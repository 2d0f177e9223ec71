import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock, Turns } from '@weir/io/time';
import type { Dispatcher } from '../../../src/protocols/contract.ts';
import {
  findProtocol,
  inboundProtocol,
  loadProtocols,
  outboundProtocol,
  protocolName,
  protocolNames,
} from '../../../src/protocols/registry.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { inboundContext } from '../../../../../test/support/protocols/inbound-context.ts';

await loadProtocols();

test('a protocol is found by its name and its aliases, exactly', () => {
  assert.equal(protocolName('freedom'), 'freedom');
  assert.equal(protocolName('direct'), 'freedom');
  assert.equal(protocolName('block'), 'blackhole');
  for (const name of ['', 'SOCKS', ' socks', 'constructor', '__proto__']) {
    assert.equal(protocolName(name), undefined);
    assert.equal(findProtocol(name), undefined);
  }
});

test('each protocol has the sides that it supports', () => {
  const sides = ['socks', 'http', 'trojan', 'vless', 'freedom', 'blackhole'].map((name) => {
    const protocol = findProtocol(name);
    return [name, protocol?.inbound !== undefined, protocol?.outbound !== undefined];
  });
  assert.deepEqual(sides, [
    ['socks', true, true],
    ['http', true, true],
    ['trojan', true, true],
    ['vless', true, true],
    ['freedom', false, true],
    ['blackhole', false, true],
  ]);
});

test('each protocol has the sides that the registry says before it is loaded', () => {
  for (const side of ['inbound', 'outbound'] as const) {
    const other = side === 'inbound' ? 'outbound' : 'inbound';
    const names = protocolNames(side);
    for (const name of [...names, ...protocolNames(other)]) {
      assert.equal(findProtocol(name)?.[side] !== undefined, names.includes(name), name);
    }
  }
});

test('a Spec cannot name a protocol that there is not', () => {
  assert.throws(() => inboundProtocol('freedom'), RangeError);
  assert.throws(() => outboundProtocol('nothing'), RangeError);
});

test('a handler for many users is made in steps', async () => {
  const COUNT = 1000;
  const list = <T>(user: (index: number) => T): T[] =>
    Array.from({ length: COUNT }, (_, i) => user(i));
  const key = (index: number): string => Buffer.alloc(16, `${index}`).toString('base64');
  const uuid = (index: number): string =>
    `b831381d-6324-4d53-ad4f-${String(index).padStart(12, '0')}`;
  const accounts = list((i) => ({ user: `${i}`, pass: `${i}` }));
  const passwords = list((i) => ({ password: `${i}`, email: '' }));
  const keys = list((i) => ({ key: key(i), email: '' }));
  const ids = list((i) => ({ id: uuid(i) }));
  const settings: Readonly<Record<string, readonly unknown[]>> = {
    socks: [{ auth: 'password', accounts, udp: true, udpBind: undefined }],
    http: [{ accounts, allowTransparent: false }],
    trojan: [{ users: passwords }],
    vless: [{ users: ids }],
    vmess: [{ users: ids }],
    shadowsocks: [
      { method: 'aes-128-gcm', key: '', users: keys },
      { method: '2022-blake3-aes-128-gcm', key: key(0), users: keys },
    ],
  };
  const dispatcher: Dispatcher = {
    stream: () => Promise.resolve(),
    packets: () => Promise.resolve(),
  };
  for (const [protocol, variants] of Object.entries(settings)) {
    const create = await inboundProtocol(protocol).load();
    for (const variant of variants) {
      const clock = new ManualClock();
      let steps = 0;
      const turns = new Turns({ ...systemClock, now: () => steps++ });
      await create(variant, inboundContext('in', { dispatcher, clock }), turns);
      assert.ok(steps >= COUNT, `${protocol}: ${steps} steps`);
    }
  }
});
