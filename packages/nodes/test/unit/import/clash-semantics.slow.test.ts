import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { configProblem } from '@weir/server/loading';
import { Router, type RouteQuery } from '@weir/proxy/router';
import { RegexCache } from '@weir/proxy/names';
import { addressInNetwork, parseInterfaceAddress } from '@weir/base/ip';
import { readForeign } from '../../../src/import/document.ts';
import { toConfig } from '../../../src/import/write/config.ts';
import { toPair } from '../../../src/import/write/subscribe.ts';
import type { Spec } from '@weir/proxy/spec';
import { specOf } from '../../../../../test/support/config/support.ts';
import { specOfBoth } from '../../../../../test/support/config/subscribe-support.ts';
import '../../../../../test/support/import/load-forms.ts';

/** Where the targets of the documents below lead in Clash: through selectors, to a server. */
const TARGETS: Readonly<Record<string, string>> = {
  a: 'a',
  b: 'b',
  DIRECT: 'direct',
  REJECT: 'blackhole',
  Proxy: 'b',
  Outer: 'b',
  Home: 'direct',
  Lost: 'blackhole',
};

const HEAD = `socks-port: 1080
sniffer: {enable: true}
proxies:
  - {name: a, type: socks5, server: a.example, port: 1}
  - {name: b, type: socks5, server: b.example, port: 1}
  - {name: c, type: tuic, server: c.example, port: 1}
proxy-groups:
  - {name: Outer, type: select, proxies: [Proxy, a]}
  - {name: Proxy, type: select, proxies: [b, a]}
  - {name: Home, type: select, proxies: [DIRECT, a]}
  - {name: Lost, type: select, proxies: [c, DIRECT]}
rule-providers:
  domains: {type: inline, behavior: domain, payload: [+.y.example, .x.example, "*.xx.example", xx.example]}
  labels: {type: inline, behavior: Domain, payload: ["*.example", "*.*.example"]}
  networks: {type: inline, behavior: ipcidr, payload: [10.0.0.0/8, "2001:db8::/32"]}
  mixed: {type: inline, behavior: classical, payload: ["DOMAIN,x.example", "IP-CIDR,192.0.2.1/32,no-resolve", "AND,((NETWORK,udp),(DST-PORT,443))", "DOMAIN-WILDCARD,?.example"]}
rules:
`;

/** A matcher as a document writes it, and whether a flow matches by the rules of Clash. */
interface Condition {
  readonly text: string;
  readonly isMet: (query: RouteQuery) => boolean;
}

const isAddress = (host: string): boolean => 'address' in parseInterfaceAddress(host);

const DOMAINS = ['x.example', 'www.x.example', 'y.example', 'xx.example'];
const HOSTS = [...DOMAINS, '10.1.2.3', '192.0.2.1', '2001:db8::1'];

const domain = (text: string, isMet: (host: string) => boolean): Condition => ({
  text,
  isMet: ({ host }) => !isAddress(host) && isMet(host),
});

const network = (text: string, networkText: string): Condition => ({
  text,
  isMet: ({ host }) => {
    const parsed = parseInterfaceAddress(networkText);
    return isAddress(host) && 'address' in parsed && addressInNetwork(host, parsed);
  },
});

const simple: fc.Arbitrary<Condition> = fc.oneof(
  fc.constantFrom(...DOMAINS).map((each) => domain(`DOMAIN,${each}`, (host) => host === each)),
  fc
    .constantFrom('x.example', 'example', 'www.x.example')
    .map((each) =>
      domain(`DOMAIN-SUFFIX,${each}`, (host) => host === each || host.endsWith(`.${each}`)),
    ),
  fc
    .constantFrom('x', 'xx', 'www')
    .map((each) => domain(`domain-keyword,${each}`, (host) => host.includes(each))),
  fc
    .constantFrom('10.0.0.0/8', '10.1.9.9/16', '192.0.2.1/32')
    .map((each) => network(`IP-CIDR,${each},no-resolve`, each)),
  fc.constant(network('IP-CIDR6,2001:db8::/32,no-resolve', '2001:db8::/32')),
  fc.constantFrom('tcp', 'UDP').map((each) => ({
    text: `NETWORK,${each}`,
    isMet: (query: RouteQuery) => query.network === each.toLowerCase(),
  })),
  fc.constant({
    text: 'DST-PORT,80/8000-9000',
    isMet: ({ port }: RouteQuery) => port === 80 || (port >= 8000 && port <= 9000),
  }),
);

/** Whether a name matches a pattern with `*` and `?`. */
const matchesPattern = (pattern: string, name: string): boolean => {
  const [first = ''] = pattern;
  if (first === '') return name === '';
  const rest = pattern.slice(1);
  if (first === '*') {
    return matchesPattern(rest, name) || (name !== '' && matchesPattern(pattern, name.slice(1)));
  }
  return name !== '' && (first === '?' || first === name[0]) && matchesPattern(rest, name.slice(1));
};

/** A flow to an address has an empty name there. */
const wildcard = fc
  .constantFrom('*.x.example', '*X.example', '?.example', '??.*', '*', '**', 'w*.?.example', 'x.*')
  .map((each) => ({
    text: `DOMAIN-WILDCARD,${each}`,
    isMet: ({ host }: RouteQuery) =>
      matchesPattern(each.toLowerCase(), isAddress(host) ? '' : host),
  }));

const sets: fc.Arbitrary<Condition> = fc.constantFrom(
  domain('RULE-SET,domains', (host) => ['y.example', 'www.x.example', 'xx.example'].includes(host)),
  domain('RULE-SET,labels', () => true),
  {
    text: 'RULE-SET,networks,no-resolve',
    isMet: ({ host }) => host === '10.1.2.3' || host === '2001:db8::1',
  },
  {
    text: 'RULE-SET,mixed',
    isMet: ({ host, network: each, port }) =>
      ['x.example', '192.0.2.1', 'y.example'].includes(host) || (each === 'udp' && port === 443),
  },
);

const kindOf = ({ text }: Condition): string => (text.split(',', 1)[0] ?? '').replace('6', '');

const joined = fc
  .tuple(fc.constantFrom('AND', 'OR'), simple, simple)
  // One rule of Weir cannot ask for two of a kind at once, so that such a rule is left out.
  .filter(([, one, other]) => kindOf(one) !== kindOf(other))
  .map(([word, one, other]): Condition => ({
    text: `${word},((${one.text}),(${other.text}))`,
    isMet: (query) =>
      word === 'AND'
        ? one.isMet(query) && other.isMet(query)
        : one.isMet(query) || other.isMet(query),
  }));

const rule = fc
  .tuple(
    fc.oneof({ weight: 4, arbitrary: simple }, joined, wildcard, sets),
    fc.constantFrom(...Object.keys(TARGETS)),
  )
  .map(([condition, target]) => {
    const isJoined = condition.text.startsWith('AND') || condition.text.startsWith('OR');
    const [type = '', payload = '', ...params] = condition.text.split(',');
    const text = isJoined
      ? `${condition.text},${target}`
      : [type, payload, target, ...params].join(',');
    return { ...condition, text, target };
  });

const QUERIES: readonly RouteQuery[] = HOSTS.flatMap((host) =>
  [80, 443, 8500].flatMap((port) =>
    (['tcp', 'udp'] as const).map((each) => ({
      inbound: 'socks',
      source: '127.0.0.1',
      network: each,
      host,
      port,
      sniffed: undefined,
    })),
  ),
);

/** The outbound of each query. */
function decisionsOf({ route }: Spec): readonly string[] {
  const router = new Router(route, { regexes: new RegexCache() });
  return QUERIES.map((query) => router.route(query).outbound);
}

describe('the rules of a configuration of Clash', () => {
  test('decide every flow as in Clash, in one file and in two', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(rule, { maxLength: 12 }),
        fc.constantFrom('Outer', 'Proxy', 'a', 'DIRECT', 'REJECT'),
        async (rules, fallback) => {
          const lines = [...rules.map(({ text }) => text), `MATCH,${fallback}`];
          const imported = readForeign(
            HEAD + lines.map((line) => `  - ${JSON.stringify(line)}\n`).join(''),
          );
          const expected = QUERIES.map((query) => {
            const target = rules.find(({ isMet }) => isMet(query))?.target ?? fallback;
            return TARGETS[target];
          });
          const one = await toConfig(imported, { check: configProblem });
          assert.deepEqual(decisionsOf(specOf(one.text)), expected);
          const { config, nodes } = await toPair(imported, { check: configProblem }, 'sub.toml');
          assert.deepEqual(decisionsOf(specOfBoth(config, nodes)), expected);
        },
      ),
      { numRuns: 80 },
    );
  });

  test('never send a flow directly that the document does not', async () => {
    const kinds = ['PROCESS-NAME,x', 'RULE-SET,x', 'GEOIP,cn', 'DOMAIN,x.example'];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...kinds), fc.constantFrom('a', 'Lost', 'REJECT')), {
          minLength: 1,
          maxLength: 4,
        }),
        async (rules) => {
          const lines = [...rules.map((each) => each.join(',')), 'MATCH,DIRECT'];
          const text = HEAD + lines.map((line) => `  - ${line}\n`).join('');
          const { text: config, report } = await toConfig(readForeign(text), {
            check: configProblem,
          });
          const isWhole = rules.every(([kind]) => kind.startsWith('DOMAIN,'));
          assert.equal(specOf(config).route.default, isWhole ? 'direct' : 'blackhole');
          assert.ok(isWhole || report.problems.length > 0);
        },
      ),
      { numRuns: 50 },
    );
  });
});
