import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { isInformation } from '../../../src/import/values/information.ts';
import { isPlaceholder } from '../../../src/subscribe/answer/read-answer.ts';
import { CODE_POINT } from '../../../../../test/support/data/code-point.ts';

describe('entries that are no servers', () => {
  for (const name of [
    'Traffic: 12 GB left',
    'Traffic Left: 0',
    'traffic 3.5GB / 100GB',
    'Remaining: 80%',
    'Expires: 2026-12-31',
    'Expire 2026-12-31',
    'EXPIRED',
    '⚠️ Expired',
    'Expires in 3 days',
    '12.5 GB left',
    '📊 12 GB / 100 GB',
    '剩余流量：3.2GB',
    '距离下次重置剩余：3 天',
    '套餐到期：2026-12-31',
    '官网: https://x.example',
    'Telegram: @x',
    'Осталось: 5 ГБ',
    'No subscription',
    '剩余流量12GB',
    '⚡ 80%',
    'Expired ⚠️',
    'Expires in 30 days',
    'Expires in 1 day',
    'Expires in 1 hour',
    'Expires 12 hours',
    'Remaining 1,024 MiB / 2',
  ]) {
    test(`include ${name}`, () => assert.ok(isInformation(name)));
  }
  for (const name of [
    '',
    'Tokyo 1',
    'Traffic JP 1',
    'Premium 10Gbps',
    '100 Mbps Osaka',
    'US 1 | 2x',
    'Remaining Nodes 1',
    'Website Hosting DE',
    'Support-NL 2',
    'Planet 3',
    'JP 1 GBnet',
    '香港 01',
    'Resetville',
    'Traffic',
    '官网',
    'Traffic12GB',
    'GB 1',
    'TB-London',
    'Plan B 2026-12-31',
    'Expires 2026-12',
  ]) {
    test(`do not include ${JSON.stringify(name)}`, () => assert.ok(!isInformation(name)));
  }

  test('any name is either, in bounded time', () => {
    fc.assert(
      fc.property(fc.string({ unit: CODE_POINT, maxLength: 400, size: 'max' }), (name) => {
        assert.equal(typeof isInformation(name), 'boolean');
      }),
    );
    isInformation(`${'🙂'.repeat(100_000)}${'1.'.repeat(100_000)}`);
  });
});

describe('places where nothing is', () => {
  for (const [server, port] of [
    ['0.0.0.0', 443],
    ['127.0.0.1', 443],
    ['127.8.9.1', 443],
    ['127.108.209.210', 443],
    ['255.255.255.255', 443],
    ['::1', 443],
    ['::', 443],
    ['localhost', 443],
    ['example.com', 443],
    ['a.EXAMPLE.org.', 443],
    ['x.invalid', 443],
    ['a.provider.net', 0],
    ['a.provider.net', 1],
  ] as const) {
    test(`include ${server} port ${port}`, () => assert.ok(isPlaceholder(server, port, false)));
  }
  for (const server of [
    '10.0.0.1',
    '192.168.1.2',
    '212.127.0.1',
    'fd00::1',
    'notexample.com',
    'example.com.provider.net',
    'a.provider.net',
    '127.0.0.1.provider.net',
    'a127.0.0.1',
  ]) {
    test(`do not include ${server}`, () => assert.ok(!isPlaceholder(server, 443, false)));
  }

  test('do not include this machine in a list from this machine', () => {
    assert.ok(!isPlaceholder('127.0.0.1', 443, true));
    assert.ok(!isPlaceholder('localhost', 443, true));
    assert.ok(!isPlaceholder('node.localhost', 443, true));
    assert.ok(isPlaceholder('node.localhost', 443, false));
    assert.ok(isPlaceholder('0.0.0.0', 443, true));
  });
});
