import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { toEndpoint, type IpEndpoint, addressInNetwork } from '@weir/base/ip';
import {
  type KernelRoute,
  KernelRoutes,
  MOST_ROUTES,
  type RouteLookup,
} from '../../../../src/platform/netlink/kernel-routes.ts';
import { RoutingRules, type RoutingRule } from '../../../../src/platform/netlink/route-messages.ts';

const MAIN = 254;

function endpoint(host: string): IpEndpoint {
  const found = toEndpoint(host, 0);
  assert.ok(found);
  return found;
}

function route(network: string, device: number, more: Partial<KernelRoute> = {}): KernelRoute {
  const [host = '', prefix = ''] = network.split('/');
  return {
    family: host.includes(':') ? 6 : 4,
    table: MAIN,
    network: endpoint(host),
    prefix: Number(prefix),
    metric: 0,
    kind: 'unicast',
    devices: [device],
    gateway: '',
    ...more,
  };
}

function tableOf(...routes: readonly KernelRoute[]): KernelRoutes {
  const table = new KernelRoutes();
  for (const each of routes) table.add(each);
  return table;
}

const any = (): boolean => true;
const by = (device: number, prefix: number): RouteLookup => ({ kind: 'device', device, prefix });

describe('a table of routes', () => {
  test('finds the longest prefix, then the least metric, by an interface that may be used', () => {
    const table = tableOf(
      route('0.0.0.0/0', 1, { metric: 100 }),
      route('0.0.0.0/0', 2, { metric: 50 }),
      route('10.0.0.0/8', 3),
      route('10.1.0.0/16', 4),
      route('::/0', 5),
      route('2001:db8::/33', 6),
    );
    const find = (host: string, ...avoided: number[]): RouteLookup =>
      table.find(MAIN, endpoint(host), (device) => !avoided.includes(device));
    assert.deepEqual(find('10.1.2.3'), by(4, 16));
    assert.deepEqual(find('10.1.2.3', 4), by(3, 8));
    assert.deepEqual(find('10.1.2.3', 4, 3), by(2, 0));
    assert.deepEqual(find('10.1.2.3', 4, 3, 2), by(1, 0));
    assert.deepEqual(find('10.1.2.3', 4, 3, 2, 1), { kind: 'none' });
    assert.deepEqual(find('2001:db8:7fff::1'), by(6, 33));
    assert.deepEqual(find('2001:db8:8000::1'), by(5, 0));
    assert.deepEqual(table.find(7, endpoint('10.1.2.3'), any), { kind: 'none' });
  });

  test('knows what is local, what is refused and what ends the search', () => {
    const table = tableOf(
      route('0.0.0.0/0', 1),
      route('192.0.2.1/32', 9, { kind: 'local' }),
      route('198.51.100.0/24', 0, { kind: 'refused', devices: [] }),
      route('203.0.113.0/24', 0, { kind: 'throw', devices: [] }),
    );
    const kinds = ['192.0.2.1', '198.51.100.1', '203.0.113.1', '192.0.2.2'].map(
      (host) => table.find(MAIN, endpoint(host), any).kind,
    );
    assert.deepEqual(kinds, ['local', 'refused', 'none', 'device']);
  });

  test('loses the routes of an interface, and its part of those of several', () => {
    const table = tableOf(
      route('0.0.0.0/0', 0, { devices: [1, 2] }),
      route('10.0.0.0/8', 1),
      route('10.0.0.0/8', 3, { metric: 5 }),
    );
    assert.equal(table.deleteDevice(1), true);
    assert.equal(table.deleteDevice(1), false);
    assert.equal(table.isReduced, true);
    assert.deepEqual(table.find(MAIN, endpoint('10.0.0.1'), any), by(3, 8));
    assert.deepEqual(table.find(MAIN, endpoint('9.0.0.1'), any), by(2, 0));
    assert.equal(table.size, 2);
  });

  test('has what a list names and what came meanwhile, and nothing else', () => {
    const table = tableOf(route('10.0.0.0/8', 1), route('11.0.0.0/8', 1));
    table.beginList();
    table.add(route('10.0.0.0/8', 1));
    table.add(route('12.0.0.0/8', 1));
    assert.equal(table.endList(), true);
    const found = ['10.0.0.1', '11.0.0.1', '12.0.0.1'].map(
      (host) => table.find(MAIN, endpoint(host), any).kind,
    );
    assert.deepEqual(found, ['device', 'none', 'device']);
  });

  test('takes the place of the routes of its metric where it replaces', () => {
    const table = tableOf(route('0.0.0.0/0', 1), route('0.0.0.0/0', 2, { metric: 7 }));
    table.add(route('0.0.0.0/0', 3), true);
    assert.deepEqual(table.find(MAIN, endpoint('10.0.0.1'), any), by(3, 0));
    assert.equal(table.size, 2);
    assert.equal(table.has(MAIN, endpoint('0.0.0.0'), 0, 1), false);
    assert.equal(table.has(MAIN, endpoint('0.0.0.0'), 0, 3), true);
  });

  test('is bounded, and says when that counts', () => {
    const table = new KernelRoutes();
    for (let i = 0; i < MOST_ROUTES + 5; i++) {
      table.add(route(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}/32`, 1));
    }
    assert.equal(table.size, MOST_ROUTES);
    assert.equal(table.isComplete, false);
    table.beginList();
    table.endList();
    assert.equal(table.size, 0);
    assert.equal(table.isComplete, true);
  });

  test('finds what a look at every route finds, after any changes', () => {
    const octet = fc.constantFrom(10, 11, 138);
    const networks = fc
      .tuple(
        octet,
        octet,
        fc.constantFrom(0, 1, 7, 8, 9, 16),
        fc.nat({ max: 3 }),
        fc.nat({ max: 2 }),
      )
      .map(([a, b, prefix, device, metric]) => {
        const word = (((a << 24) | (b << 16)) & (prefix === 0 ? 0 : -1 << (32 - prefix))) >>> 0;
        const host = `${word >>> 24}.${(word >>> 16) & 255}.0.0`;
        return {
          text: { address: host, prefix },
          route: route(`${host}/${prefix}`, device, { metric }),
        };
      });
    const change = fc.record({ isAdded: fc.boolean(), network: networks });
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 40, size: 'max' }),
        octet,
        octet,
        (changes, a, b) => {
          const table = new KernelRoutes();
          const model = new Map<string, (typeof changes)[number]['network']>();
          for (const { isAdded, network } of changes) {
            const key = JSON.stringify(network);
            if (isAdded) {
              table.add(network.route);
              model.set(key, network);
            } else {
              assert.equal(table.delete(network.route), model.delete(key));
            }
          }
          assert.equal(table.size, model.size);
          const host = `${a}.${b}.7.7`;
          const best = [...model.values()]
            .filter(({ text }) => addressInNetwork(host, text))
            .sort(
              (one, other) =>
                other.route.prefix - one.route.prefix || one.route.metric - other.route.metric,
            )[0];
          const found = table.find(MAIN, endpoint(host), any);
          if (!best) assert.equal(found.kind, 'none');
          else {
            assert.ok(found.kind === 'device');
            const isAsGood = [...model.values()].some(
              (each) =>
                each.route.prefix === best.route.prefix &&
                each.route.metric === best.route.metric &&
                each.route.devices[0] === found.device &&
                addressInNetwork(host, each.text),
            );
            assert.ok(isAsGood && found.prefix === best.route.prefix);
          }
        },
      ),
    );
  });
});

describe('rules', () => {
  const rule = (priority: number, action: RoutingRule['action'], more = {}): RoutingRule => ({
    family: 4,
    priority,
    action,
    to: undefined,
    fitsUnmarked: true,
    isInverted: false,
    ...more,
  });
  const lookUp = (table: number, leastPrefix = 0): RoutingRule['action'] => ({
    kind: 'table',
    table,
    leastPrefix,
  });
  const table = tableOf(
    route('0.0.0.0/0', 1),
    route('10.0.0.0/8', 2),
    route('0.0.0.0/0', 3, { table: 77 }),
    route('0.0.0.0/0', 4, { table: 78 }),
  );
  const deviceBy = (host: string, ...listed: readonly RoutingRule[]): number | string => {
    const rules = new RoutingRules();
    rules.beginList();
    for (const each of listed) rules.add(each);
    rules.endList();
    const found = rules.find(table, endpoint(host), any);
    return found.kind === 'device' ? found.device : found.kind;
  };

  test('are those of a kernel without rules where none are listed', () => {
    assert.equal(deviceBy('10.0.0.1'), 2);
    assert.equal(deviceBy('9.0.0.1'), 1);
  });

  test('are followed in order, by destination, mark and inversion', () => {
    const main = rule(32_766, lookUp(MAIN));
    const to = { network: endpoint('9.0.0.0'), prefix: 8 };
    assert.equal(deviceBy('9.0.0.1', main, rule(5, lookUp(77), { to })), 3);
    assert.equal(deviceBy('8.0.0.1', main, rule(5, lookUp(77), { to })), 1);
    assert.equal(deviceBy('8.0.0.1', main, rule(5, lookUp(77), { to, isInverted: true })), 3);
    // As `not fwmark 0xca6c lookup 78`, and without `not`.
    const marked = { fitsUnmarked: false };
    assert.equal(deviceBy('9.0.0.1', main, rule(5, lookUp(78), marked)), 1);
    assert.equal(
      deviceBy('9.0.0.1', main, rule(5, lookUp(78), { ...marked, isInverted: true })),
      4,
    );
  });

  test('may suppress short prefixes, refuse and skip others', () => {
    const main = rule(32_766, lookUp(MAIN));
    const specific = rule(5, lookUp(MAIN, 1));
    assert.equal(deviceBy('10.0.0.1', specific, rule(6, lookUp(77)), main), 2);
    assert.equal(deviceBy('9.0.0.1', specific, rule(6, lookUp(77)), main), 3);
    assert.equal(deviceBy('9.0.0.1', rule(5, { kind: 'refuse' }), main), 'refused');
    assert.equal(
      deviceBy('9.0.0.1', rule(5, { kind: 'goto', priority: 9 }), rule(7, lookUp(77)), main),
      1,
    );
  });
});
