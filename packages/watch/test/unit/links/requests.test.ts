import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clientAddress } from '../../../src/links/client-address.ts';
import { formatFor, formatNamed, LINK_FORMATS } from '../../../src/links/format.ts';
import { userinfoText } from '../../../src/links/quota.ts';
import { RequestRates } from '../../../src/links/request-rates.ts';

describe('the address of a client', () => {
  const trusted = (address: string): boolean =>
    address.startsWith('10.') || address === '127.0.0.1';
  const cases: readonly [string | undefined, string | undefined, string | undefined][] = [
    ['192.0.2.1', undefined, '192.0.2.1'],
    ['192.0.2.1', '198.51.100.1', '192.0.2.1'],
    ['::ffff:127.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['127.0.0.1', '203.0.113.9, 198.51.100.1', '198.51.100.1'],
    ['127.0.0.1', '203.0.113.9, 198.51.100.1, 10.0.0.1', '198.51.100.1'],
    ['127.0.0.1', '198.51.100.1:1234', '198.51.100.1'],
    ['127.0.0.1', '[2001:db8::1]:443', '2001:db8::1'],
    ['127.0.0.1', '2001:db8::1', '2001:db8::1'],
    ['127.0.0.1', 'unknown', '127.0.0.1'],
    ['127.0.0.1', '198.51.100.1, unknown', '127.0.0.1'],
    ['127.0.0.1', '10.0.0.1', '10.0.0.1'],
    [undefined, '198.51.100.1', '198.51.100.1'],
    [undefined, undefined, undefined],
  ];
  for (const [peer, header, expected] of cases) {
    test(`of ${peer} with X-Forwarded-For: ${header} is ${expected}`, () => {
      assert.equal(clientAddress(peer, header, trusted), expected);
    });
  }
});

describe('the rate of requests', () => {
  test('is limited for each source by itself', () => {
    const rates = new RequestRates();
    for (let at = 0; at < 30; at++) assert.equal(rates.take('192.0.2.1', 0), true);
    assert.equal(rates.take('192.0.2.1', 0), false);
    assert.equal(rates.take('192.0.2.2', 0), true);
    assert.equal(rates.take('192.0.2.1', 500), false);
    assert.equal(rates.take('192.0.2.1', 1000), true);
    assert.equal(rates.take('192.0.2.1', 1000), false);
    assert.equal(rates.take('192.0.2.1', 1_000_000), true);
  });

  test('counts an IPv6 network as one source, and mapped addresses as IPv4', () => {
    const rates = new RequestRates();
    for (let at = 0; at < 30; at++) assert.equal(rates.take(`2001:db8::${at}`, 0), true);
    assert.equal(rates.take('2001:db8::ffff', 0), false);
    for (let at = 0; at < 30; at++) assert.equal(rates.take('::ffff:192.0.2.1', 0), true);
    assert.equal(rates.take('192.0.2.1', 0), false);
  });

  test('remembers a bounded number of sources', () => {
    const rates = new RequestRates();
    for (let at = 0; at < 20_000; at++)
      rates.take(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`, 0);
    assert.equal(rates.size, 8192);
  });
});

describe('the form that a client gets', () => {
  const AGENTS: readonly [string, (typeof LINK_FORMATS)[number]][] = [
    ['SFA/1.12.0 (123; sing-box 1.12.0; language en_US)', 'sing-box'],
    ['SFI/1.11.4 (Build 2; sing-box 1.11.4; language zh)', 'sing-box'],
    ['sing-box 1.14.4', 'sing-box'],
    ['HiddifyNext/2.0.5 (windows) like ClashMeta v2ray sing-box', 'sing-box'],
    ['Karing/1.1.2', 'sing-box'],
    ['clash-verge/v2.4.2', 'clash'],
    ['ClashMetaForAndroid/2.11.18.Meta', 'clash'],
    ['mihomo/1.19.20', 'clash'],
    ['mihomo.party/v1.8.9 (clash.meta)', 'clash'],
    ['FlClash/v0.8.90 clash-verge', 'clash'],
    ['Stash/2.7.1', 'clash'],
    ['NekoBox/Android/1.3.4 (Prefer ClashMeta Format)', 'clash'],
    ['v2rayN/7.15.0', 'base64'],
    ['v2rayNG/1.10.22', 'base64'],
    ['Shadowrocket/2593 CFNetwork/3826 Darwin/24', 'base64'],
    ['weir/2.1.1', 'base64'],
    ['curl/8.14.1', 'base64'],
    ['', 'base64'],
  ];
  for (const [agent, format] of AGENTS) {
    test(`of ${agent} is ${format}`, () => assert.equal(formatFor(agent, '*/*'), format));
  }

  test('is a page for a browser, and for programs alone what they read', () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
    assert.equal(formatFor('Mozilla/5.0 (X11; Linux x86_64) Firefox/148.0', accept), 'page');
    assert.equal(formatFor('clash-verge/v2.4.2', accept), 'clash');
  });

  test('is named by a query', () => {
    for (const format of LINK_FORMATS) assert.equal(formatNamed(format), format);
    assert.equal(formatNamed('mihomo'), 'clash');
    for (const unknown of ['', 'CLASH', 'toString', '__proto__']) {
      assert.equal(formatNamed(unknown), undefined);
    }
  });
});

test('a quota is written for clients as far as it is known', () => {
  assert.equal(userinfoText(undefined), undefined);
  assert.equal(userinfoText({}), undefined);
  assert.equal(userinfoText({ upload: 1, download: 2 }), 'upload=1; download=2');
  assert.equal(
    userinfoText({ upload: 1, download: 2, total: 1e11, expire: 1_801_440_000.9 }),
    'upload=1; download=2; total=100000000000; expire=1801440000',
  );
});
