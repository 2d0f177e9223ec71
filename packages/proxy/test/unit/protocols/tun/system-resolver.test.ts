import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SystemResolver } from '../../../../src/dns/system/system-resolvers.ts';
import { parseInterfaceAddress, type Cidr } from '@weir/base/ip';
import type { ProgramRoute } from '@weir/io/sockets';
import {
  coversDefaultRoute,
  nameServer,
  resolverWarning,
} from '../../../../src/protocols/tun/system-resolver.ts';

const cidrs = (...texts: readonly string[]): readonly Cidr[] =>
  texts.map((text) => {
    const parsed = parseInterfaceAddress(text);
    if ('problem' in parsed) throw new Error(parsed.problem);
    return parsed;
  });

const from = (address: string): SystemResolver => ({ address, source: '/etc/resolv.conf' });

describe('the default route of a family', () => {
  for (const [routes, covers] of [
    ['0.0.0.0/0', true],
    ['::/0', true],
    ['128.0.0.0/1 0.0.0.0/1', true],
    ['8000::/1 192.0.2.0/24 ::/1', true],
    ['', false],
    ['0.0.0.0/1 8000::/1', false],
    ['10.0.0.0/8 192.0.2.0/24', false],
  ] as const) {
    test(`is ${covers ? '' : 'not '}covered by the routes "${routes}"`, () => {
      assert.equal(coversDefaultRoute(cidrs(...(routes.match(/\S+/g) ?? []))), covers);
    });
  }
});

describe('the name server of a device', () => {
  for (const [addresses, expected] of [
    ['172.19.0.1/30', '172.19.0.2'],
    ['172.19.0.2/30', '172.19.0.1'],
    ['172.19.0.1/24', '172.19.0.2'],
    ['172.19.0.255/16', '172.19.0.254'],
    ['172.19.0.0/31', '172.19.0.1'],
    ['172.19.0.1/31', '172.19.0.0'],
    ['172.19.0.1/32', '172.19.0.1'],
    ['fd19::1/126 172.19.0.1/30', 'fd19::2'],
    ['fd19::2/127', 'fd19::3'],
    ['', undefined],
  ] as const) {
    test(`with the addresses "${addresses}" is ${expected ?? 'nowhere'}`, () => {
      assert.equal(nameServer(cidrs(...(addresses.match(/\S+/g) ?? []))), expected);
    });
  }
});

describe('the warning about the resolver of the system', () => {
  const routes = cidrs('0.0.0.0/0');
  const addresses = cidrs('172.19.0.1/30');
  const ways: Readonly<Record<string, ProgramRoute>> = {
    '192.0.2.1': 'uplink',
    '192.0.2.2': 'device',
    '192.0.2.3': 'none',
    '127.0.0.1': 'host',
    '172.19.0.2': 'subnet',
  };
  const warn = (...resolvers: readonly SystemResolver[]): string | undefined =>
    resolverWarning({ addresses, routes }, resolvers, (address) => ways[address] ?? 'none');

  test('names each server that is not [dns] once, and no other', () => {
    const line = warn(...Object.keys(ways).map(from)) ?? '';
    assert.match(line, /192\.0\.2\.1 \(\/etc\/resolv\.conf\): past Weir, by the uplink in clear; /);
    assert.match(line, /192\.0\.2\.2 \(\/etc\/resolv\.conf\): through Weir, by the rules; /);
    assert.match(line, /127\.0\.0\.1 \(\/etc\/resolv\.conf\): a program of this host/);
    assert.doesNotMatch(line, /192\.0\.2\.3|172\.19\.0\.2 \(/);
  });

  test('is left out without servers, and where all are the device', () => {
    assert.equal(warn(), undefined);
    assert.equal(warn(from('172.19.0.2')), undefined);
    assert.equal(warn(from('192.0.2.3')), undefined);
  });

  test('does not claim that systemd-resolved asks in clear', () => {
    const line = warn({ address: '192.0.2.1', source: 'systemd-resolved' }) ?? '';
    assert.match(line, /192\.0\.2\.1 \(systemd-resolved\): past Weir, by the uplink\. /);
    assert.match(line, /"DNS=172\.19\.0\.2" and "Domains=~\."/);
  });

  test('asks for an address first where the device has none', () => {
    const line = resolverWarning({ addresses: [], routes }, [from('192.0.2.1')], () => 'uplink');
    assert.match(line ?? '', /Give the device an address/);
  });
});
