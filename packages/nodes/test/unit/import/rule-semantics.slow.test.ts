import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parseInterfaceAddress } from '@weir/base/ip';
import { ipVersion } from '@weir/io/addresses';
import type { RouteQuery } from '@weir/proxy/router';
import { routerOf, written } from '../../../../../test/support/import/written.ts';

/*
 * What sing-box and Xray decide, by a reading of their sources that is independent of the importer
 * (`route/rule/rule_abstract.go` of 7df171f, `app/router/config.go` of 2323273), against Weir's router
 * with the imported rules: the same for every flow.
 */

const OUTBOUNDS = ['a', 'b', 'c'] as const;
const DOMAINS = ['example.org', 'www.example.org', 'anexample.org', 'cdn.example.net', 'ads1.test'];
const ADDRESSES = [
  '10.1.2.3',
  '192.0.2.7',
  '198.51.100.200',
  '2001:db8::5',
  'fd00::1',
  '127.0.0.1',
];
const NETWORKS = ['10.0.0.0/8', '192.0.2.9/24', '198.51.100.128/25', '2001:db8::/32', '127.0.0.1'];
const PORTS = [22, 53, 80, 443, 8443, 9050];
const INBOUNDS = ['one', 'two'];

/** Some values of a list, or one alone, or no key at all. */
const some = <T>(values: readonly T[]): fc.Arbitrary<T | T[] | undefined> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(...values) },
    {
      weight: 2,
      arbitrary: fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 }),
    },
  );

const FLOW: fc.Arbitrary<RouteQuery> = fc
  .record({
    inbound: fc.constantFrom(...INBOUNDS),
    source: fc.constantFrom(...ADDRESSES),
    network: fc.constantFrom('tcp', 'udp'),
    host: fc.constantFrom(...DOMAINS, ...ADDRESSES),
    port: fc.constantFrom(...PORTS),
    sniffed: fc.option(fc.constantFrom(...DOMAINS), { nil: undefined }),
  })
  .map((flow) => (ipVersion(flow.host) === 0 ? { ...flow, sniffed: undefined } : flow));

type Fields = Readonly<Record<string, unknown>>;

const listOf = (rule: Fields, key: string): readonly string[] => {
  const value = rule[key];
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).map(String);
};

const domainOf = ({ host, sniffed }: RouteQuery): string | undefined =>
  sniffed ?? (ipVersion(host) === 0 ? host : undefined);

function isWithin(address: string | undefined, networks: readonly string[]): boolean {
  if (address === undefined || ipVersion(address) === 0) return false;
  const list = new BlockList();
  for (const network of networks) {
    const parsed = parseInterfaceAddress(network);
    assert.ok(!('problem' in parsed));
    list.addSubnet(parsed.address, parsed.prefix, parsed.address.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
}

const isPrivate = (address: string): boolean => /^(?:10\.|127\.|fd|::1$)/.test(address);

const isSuffix = (domain: string, suffix: string): boolean =>
  suffix.startsWith('.') ? domain.endsWith(suffix) : `.${domain}`.endsWith(`.${suffix}`);

const outbounds = (name: 'sing-box' | 'xray'): object[] =>
  OUTBOUNDS.map((tag, index) =>
    name === 'sing-box'
      ? { type: 'socks', tag, server: '192.0.2.1', server_port: index + 1 }
      : { protocol: 'socks', tag, settings: { address: '192.0.2.1', port: index + 1 } },
  );

/** Whether groups of conditions hold: one of each group that has any. */
const holds = (groups: readonly (readonly boolean[])[]): boolean =>
  groups.every((group) => group.length === 0 || group.some(Boolean));

describe('rules of sing-box', () => {
  const plain = fc.record({
    // Flows have names in lower case: those with capitals match none.
    domain: some([...DOMAINS, 'Example.org']),
    domain_suffix: some(['org', 'example.net', '.example.org', 'ORG', '.Example.org']),
    domain_keyword: some(['example', 'ads', 'ADS']),
    domain_regex: some(['^ads[0-9]', String.raw`\.net$`]),
    ip_cidr: some(NETWORKS),
    ip_is_private: fc.constantFrom(undefined, undefined, true),
    ip_version: fc.constantFrom(undefined, undefined, 4, 6),
    source_ip_cidr: some(NETWORKS),
    source_ip_is_private: fc.constantFrom(undefined, undefined, true),
    port: some([22, 53, 443]),
    port_range: some(['80:8443', ':50', '9000:']),
    network: some(['tcp', 'udp']),
    inbound: some(INBOUNDS),
    rule_set: some(['own', 'other']),
  });
  const RULE_SETS = [
    {
      tag: 'own',
      rules: [{ domain: ['cdn.example.net', 'Ads1.test'] }, { ip_cidr: '192.0.2.0/24' }],
    },
    { tag: 'other', type: 'inline', rules: [{ domain_keyword: ['ads'] }] },
  ];
  const logical = fc.record({
    type: fc.constant('logical'),
    mode: fc.constantFrom('and', 'or'),
    rules: fc.array(plain, { minLength: 1, maxLength: 3 }),
  });
  const rule: fc.Arbitrary<Fields> = fc
    .tuple(fc.oneof(plain, plain, logical), fc.constantFrom(...OUTBOUNDS))
    .map(([conditions, outbound]) => ({ ...conditions, outbound }));

  function matches(value: Fields, flow: RouteQuery): boolean {
    if (value['type'] === 'logical') {
      const parts = (value['rules'] as Fields[]).map((each) => matches(each, flow));
      return value['mode'] === 'and' ? parts.every(Boolean) : parts.some(Boolean);
    }
    const { host, source, port } = flow;
    const domain = domainOf(flow);
    const sets = RULE_SETS.filter(({ tag }) => listOf(value, 'rule_set').includes(tag));
    const destination = (each: Fields): boolean[] => [
      ...listOf(each, 'domain').map((text) => domain === text),
      ...listOf(each, 'domain_suffix').map(
        (text) => domain !== undefined && isSuffix(domain, text),
      ),
      ...listOf(each, 'domain_keyword').map((text) => domain?.includes(text) === true),
      ...listOf(each, 'domain_regex').map(
        (text) => domain !== undefined && new RegExp(text).test(domain),
      ),
      ...listOf(each, 'ip_cidr').map((text) => isWithin(host, [text])),
      ...(each['ip_is_private'] === true ? [ipVersion(host) !== 0 && isPrivate(host)] : []),
    ];
    return holds([
      [...destination(value), ...sets.flatMap(({ rules }) => rules.flatMap(destination))],
      [
        ...listOf(value, 'source_ip_cidr').map((text) => isWithin(source, [text])),
        ...(value['source_ip_is_private'] === true ? [isPrivate(source ?? '')] : []),
      ],
      [
        ...listOf(value, 'port').map((text) => port === Number(text)),
        ...listOf(value, 'port_range').map((text) => {
          const [low = '', high = ''] = text.split(':');
          return port >= Number(low) && port <= (high === '' ? 65_535 : Number(high));
        }),
      ],
      listOf(value, 'network').map((text) => flow.network === text),
      listOf(value, 'inbound').map((text) => flow.inbound === text),
      listOf(value, 'ip_version').map((text) => ipVersion(host) === Number(text)),
    ]);
  }

  test('decide on each flow as sing-box does', async () => {
    let decided = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(rule, { minLength: 1, maxLength: 5 }),
        fc.array(FLOW, { minLength: 30, maxLength: 30 }),
        async (rules, flows) => {
          const { text, report } = await written(
            JSON.stringify({
              inbounds: INBOUNDS.map((tag, at) => ({ type: 'socks', tag, listen_port: 1080 + at })),
              outbounds: outbounds('sing-box'),
              route: { rules: [{ action: 'sniff' }, ...rules], rule_set: RULE_SETS, final: 'c' },
            }),
          );
          // Two conditions of one kind that both have to hold cannot be said.
          fc.pre(report.items.every(({ status }) => status !== 'skipped'));
          const router = await routerOf(text);
          for (const flow of flows) {
            const wanted = rules.find((each) => matches(each, flow))?.['outbound'] ?? 'c';
            assert.equal(router.route(flow).outbound, wanted, `${JSON.stringify(flow)}\n${text}`);
            decided++;
          }
        },
      ),
      { numRuns: 40 },
    );
    assert.ok(decided > 500);
  });
});

describe('rules of Xray', () => {
  const rule: fc.Arbitrary<Fields> = fc
    .record({
      domain: some([
        'domain:example.org',
        'full:cdn.example.net',
        'ads',
        'keyword:an',
        'regexp:^w',
        'dotless:',
      ]),
      ip: some(NETWORKS),
      source: some(NETWORKS),
      port: fc.constantFrom(undefined, 443, '22,53', '80-8443', '1-50, 9000-9100'),
      network: fc.constantFrom(undefined, 'tcp', 'udp', 'tcp,udp', ['udp']),
      inboundTag: some(INBOUNDS),
      outboundTag: fc.constantFrom(...OUTBOUNDS),
    })
    .filter((each) => Object.values(each).filter((value) => value !== undefined).length > 1);

  function matches(value: Fields, flow: RouteQuery): boolean {
    const domain = domainOf(flow);
    return holds([
      listOf(value, 'domain').map((text) => {
        if (domain === undefined) return false;
        const [kind = '', part] = text.split(':');
        switch (part === undefined ? 'keyword' : kind) {
          case 'domain':
            return isSuffix(domain, part ?? '');
          case 'full':
            return domain === part;
          case 'regexp':
            return new RegExp(part ?? '').test(domain);
          case 'dotless':
            return !domain.includes('.');
          default:
            return domain.includes(part ?? text);
        }
      }),
      listOf(value, 'ip').map((text) => isWithin(flow.host, [text])),
      listOf(value, 'source').map((text) => isWithin(flow.source, [text])),
      listOf(value, 'port')
        .flatMap((text) => text.split(','))
        .map((text) => {
          const [low, high = low] = text.split('-').map(Number);
          return flow.port >= (low ?? 0) && flow.port <= (high ?? 0);
        }),
      listOf(value, 'network')
        .flatMap((text) => text.split(','))
        .map((text) => flow.network === text),
      listOf(value, 'inboundTag').map((text) => flow.inbound === text),
    ]);
  }

  test('decide on each flow as Xray does', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(rule, { minLength: 1, maxLength: 5 }),
        fc.array(FLOW, { minLength: 30, maxLength: 30 }),
        async (rules, flows) => {
          const { text, report } = await written(
            JSON.stringify({
              inbounds: INBOUNDS.map((tag, at) => ({ protocol: 'http', tag, port: 1080 + at })),
              outbounds: outbounds('xray'),
              routing: { rules },
            }),
          );
          assert.ok(report.items.every(({ status }) => status !== 'skipped'));
          const router = await routerOf(text);
          for (const flow of flows) {
            const wanted = rules.find((each) => matches(each, flow))?.['outboundTag'] ?? 'a';
            assert.equal(router.route(flow).outbound, wanted, `${JSON.stringify(flow)}\n${text}`);
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});
