import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { DelayHistory } from '../../../src/clash-api/delays.ts';
import { chainOf, clashProxies } from '../../../src/clash-api/translate/proxies.ts';
import { clashConfigs } from '../../../src/clash-api/translate/configs.ts';
import {
  clashConnection,
  clashSnapshot,
  clashMatch,
  clashRules,
} from '../../../src/clash-api/translate/connections.ts';
import { clashLogLine, lostLogLine } from '../../../src/clash-api/streams/feeds.ts';
import { ClashNames } from '../../../src/clash-api/translate/facts.ts';
import { clashProviders } from '../../../src/clash-api/answers/providers.ts';
import { factsOf, flow, ROUTES, ruleSpec, STATUS } from './support.ts';
import '../../../../../test/support/import/load-forms.ts';

const NOW = Date.UTC(2026, 10, 24, 5);
const noDelays = () => new DelayHistory(() => NOW);

describe('names on the controller', () => {
  test('an outbound with the name of a group gets another', () => {
    const names = new ClashNames(ROUTES);
    assert.deepEqual(names.find('tokyo'), { kind: 'group', name: 'tokyo' });
    assert.deepEqual(names.find('tokyo (outbound)'), { kind: 'target', name: 'tokyo' });
    assert.equal(names.target('tokyo'), 'tokyo (outbound)');
    assert.equal(names.group('tokyo'), 'tokyo');
  });

  test('are unique, printable, and found again, whatever a configuration has', () => {
    const name = fc.oneof(
      fc.constantFrom(
        'GLOBAL',
        'default',
        'a',
        'a (outbound)',
        'a (group)',
        '\u202Eevil',
        '\x1b[2J',
      ),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(name), fc.array(name), (groups, targets) => {
        const names = new ClashNames({
          groups: groups.map((each) => ({
            name: each,
            pick: null,
            inherit: 'default',
            target: null,
          })),
          targets: targets.map((each) => ({ name: each, kind: 'node' })),
        });
        for (const each of groups) {
          assert.deepEqual(names.find(names.group(each)), { kind: 'group', name: each });
        }
        for (const each of targets) {
          assert.deepEqual(names.find(names.target(each)), { kind: 'target', name: each });
        }
        for (const [each] of names.names()) assert.doesNotMatch(each, /[\p{Cc}\u202E]/u);
      }),
    );
  });
});

describe('proxies', () => {
  test('are groups, balancers and outbounds in the types of mihomo', () => {
    const proxies = clashProxies(factsOf(), noDelays());
    assert.deepEqual(
      Object.values(proxies).map(({ name, type, now }) => [name, type, now]),
      [
        ['GLOBAL', 'Selector', 'tokyo (outbound)'],
        ['default', 'Selector', 'tokyo (outbound)'],
        ['Video', 'Selector', 'osaka'],
        ['Games', 'Selector', 'default'],
        ['tokyo', 'Selector', 'direct'],
        ['Inner', 'Selector', 'Games'],
        ['office', 'Http', undefined],
        ['japan', 'Fallback', 'osaka'],
        ['tokyo (outbound)', 'Trojan', undefined],
        ['osaka', 'Vless', undefined],
        ['direct', 'Direct', undefined],
        ['blackhole', 'Reject', undefined],
      ],
    );
    assert.equal(proxies['office']?.udp, false);
    assert.equal(proxies['tokyo (outbound)']?.alive, false, 'its probe has failed');
    assert.equal(proxies['osaka']?.alive, true);
  });

  test('the member in use is among the members, also what a group inherits', () => {
    const proxies = clashProxies(factsOf(), noDelays());
    for (const { all, now, name } of Object.values(proxies)) {
      if (now !== undefined) assert.ok(all?.includes(now), name);
      for (const member of all ?? []) assert.ok(proxies[member], `${name}: ${member}`);
    }
    assert.deepEqual(proxies['Video']?.all, [
      'office',
      'japan',
      'tokyo (outbound)',
      'osaka',
      'direct',
      'blackhole',
    ]);
    assert.equal(proxies['Games']?.all?.[0], 'default');
  });

  test('a round robin is a LoadBalance, without a member in use', () => {
    const [balancer] = STATUS.balancers;
    assert.ok(balancer);
    const status = { ...STATUS, balancers: [{ ...balancer, strategy: 'round_robin' as const }] };
    const { japan } = clashProxies(factsOf({ status }), noDelays());
    assert.equal(japan?.type, 'LoadBalance');
    assert.equal('now' in (japan ?? {}), false);
  });

  test('without the file and the control socket the types are unknown, and nothing else is missing', () => {
    const proxies = clashProxies(factsOf({ spec: undefined, status: undefined }), noDelays());
    assert.equal(proxies['osaka']?.type, 'Unknown');
    assert.equal(proxies['direct']?.type, 'Direct');
    assert.equal(proxies['Video']?.now, 'osaka');
  });

  test('have the delays of their tests, by URL too', () => {
    const delays = noDelays();
    delays.add('osaka', 'http://a/', 120, true);
    delays.add('osaka', 'http://b/', 80, false);
    const { osaka } = clashProxies(factsOf(), delays);
    const time = new Date(NOW).toISOString();
    assert.deepEqual(osaka?.history, [
      { time, delay: 120 },
      { time, delay: 80 },
    ]);
    assert.deepEqual(osaka?.extra, {
      'http://a/': { alive: true, history: [{ time, delay: 120 }] },
      'http://b/': { alive: false, history: [{ time, delay: 0 }] },
    });
  });
});

describe('connections', () => {
  test('have mihomo’s fields', () => {
    assert.deepEqual(clashConnection(factsOf(), flow({ sniffed: 'sni.example', rule: 2 })), {
      id: '7',
      metadata: {
        network: 'tcp',
        type: 'Socks5',
        sourceIP: '127.0.0.1',
        destinationIP: '',
        sourceGeoIP: null,
        destinationGeoIP: null,
        sourceIPASN: '',
        destinationIPASN: '',
        sourcePort: '0',
        destinationPort: '443',
        inboundIP: '',
        inboundPort: '0',
        inboundName: 'local',
        inboundUser: 'ann',
        host: 'a.video.example',
        dnsMode: 'normal',
        uid: 0,
        process: '',
        processPath: '',
        specialProxy: '',
        specialRules: '',
        remoteDestination: '',
        dscp: 0,
        sniffHost: 'sni.example',
      },
      upload: 100,
      download: 2000,
      start: '2026-11-24T04:00:00.000Z',
      chains: ['tokyo (outbound)', 'Video'],
      rule: 'Domain',
      rulePayload: 'video.example',
    });
  });

  test('an address is the destination, and not a host', () => {
    const { metadata } = clashConnection(factsOf(), flow({ host: '2001:db8::1', network: 'udp' }));
    assert.deepEqual(
      [metadata.destinationIP, metadata.host, metadata.network],
      ['2001:db8::1', '', 'udp'],
    );
  });

  test('names of the network are escaped', () => {
    const hostile = flow({ host: 'a\x1b[2J.example', user: '\u202Enna', inbound: 'x\ny' });
    const { metadata } = clashConnection(factsOf(), hostile);
    assert.deepEqual(
      [metadata.host, metadata.inboundUser, metadata.inboundName],
      [String.raw`a\u{1b}[2J.example`, String.raw`\u{202e}nna`, String.raw`x\u{a}y`],
    );
  });

  for (const [what, changes, expected] of [
    ['the default route', {}, ['tokyo (outbound)', 'default']],
    ['a group with a pick', { rule: 2, outbound: 'osaka' }, ['osaka', 'Video']],
    ['a group that inherits', { rule: 3 }, ['tokyo (outbound)', 'default', 'Games']],
    ['a rule with a balancer', { rule: 1, outbound: 'osaka' }, ['osaka', 'japan']],
    ['a rule with an outbound', { rule: 0, outbound: 'office' }, ['office']],
    ['rules before a reload', { rule: 2, plane_epoch: 1 }, ['tokyo (outbound)']],
    ['the DNS service', { outbound: '' }, ['dns']],
  ] as const) {
    test(`the chain of ${what}`, () =>
      assert.deepEqual(chainOf(factsOf(), flow(changes)), expected));
  }

  test('a snapshot has totals, and the default route as Match', () => {
    const totals = { up: 5, down: 6, memory: 7 };
    const { connections, ...rest } = clashSnapshot(factsOf(), [flow()], totals);
    assert.deepEqual(rest, { uploadTotal: 5, downloadTotal: 6, memory: 7 });
    assert.deepEqual(
      connections.map(({ rule, rulePayload }) => [rule, rulePayload]),
      [['Match', '']],
    );
  });

  test('a rule of another configuration is not named by that of now', () => {
    const { rule, rulePayload } = clashConnection(factsOf(), flow({ rule: 2, plane_epoch: 1 }));
    assert.deepEqual([rule, rulePayload], ['Unknown', 'rule 2']);
  });

  test('inheritance in a cycle ends', () => {
    const groups = ['a', 'b'].map((name, at) => ({
      name,
      pick: null,
      inherit: { group: at === 0 ? 'b' : 'a' },
      target: null,
    }));
    const status = {
      ...STATUS,
      routes: { rules_since: 0, groups: [{ name: 'a', first_rule: 0, rules: 1 }] },
    };
    const facts = factsOf({ routes: { ...ROUTES, groups }, status });
    assert.equal(chainOf(facts, flow({ rule: 0 }))[0], 'tokyo');
    assert.ok(clashProxies(facts, noDelays())['a']);
  });
});

describe('rules', () => {
  test('have the types, payloads and groups that mihomo would show', () => {
    assert.deepEqual(
      clashRules(factsOf()).map(({ index, type, payload, proxy }) => [index, type, payload, proxy]),
      [
        [0, 'AND', '((DomainSuffix,corp.example) && (Network,tcp))', 'office'],
        [1, 'OR', '((DstPort,80) || (DstPort,8000-8100))', 'japan'],
        [2, 'Domain', 'video.example', 'Video'],
        [3, 'DomainKeyword', 'game', 'Games'],
        [4, 'GeoIP', '!jp', 'tokyo'],
        [5, 'Match', '', 'default'],
      ],
    );
  });

  test('count the flows that they have taken, blocked and failed ones too', () => {
    const taken = {
      since: 0,
      rules: [
        { rule: 0, opened: 3, blocked: 0, failed: 2, last_at: Date.UTC(2026, 10, 28) },
        { rule: null, opened: 0, blocked: 4, failed: 0, last_at: 0 },
      ],
      more: 0,
    };
    const status = { ...STATUS, routes: { ...STATUS.routes, taken } };
    const extras = clashRules(factsOf({ status })).map(({ extra }) => extra);
    assert.deepEqual(
      extras.map((extra) => extra?.hitCount),
      [5, 0, 0, 0, 0, 4],
    );
    assert.deepEqual(extras[0]?.hitAt, '2026-11-28T00:00:00.000Z');
    assert.deepEqual(extras[1]?.hitAt, '0001-01-01T00:00:00Z', "Go's zero time");
    assert.equal(clashRules(factsOf({ status: undefined }))[0]?.extra, undefined);
  });

  test('of thousands of entries list a few', () => {
    const domainSuffix = Array.from({ length: 5000 }, (_, at) => `d${at}.example`);
    const { type, payload } = clashMatch(ruleSpec('x', { domainSuffix }));
    assert.equal(type, 'OR');
    assert.ok(payload.endsWith(' || (DomainSuffix,d7.example) || (4992 more))'), payload);
  });

  test('none are listed if the file cannot be read', () => {
    assert.deepEqual(clashRules(factsOf({ spec: undefined })), []);
  });
});

test('a configuration has the ports of its inbounds, and rule as its only mode', () => {
  const configs = clashConfigs(factsOf());
  assert.deepEqual(
    ['port', 'socks-port', 'mode', 'mode-list', 'log-level', 'allow-lan', 'tun'].map(
      (key) => configs[key],
    ),
    [8080, 1080, 'rule', ['rule'], 'warning', true, { enable: true, device: 'weir0' }],
  );
  const status = { ...STATUS, log_filter: 'svc_app=warn,trace' };
  assert.equal(clashConfigs(factsOf({ status }))['log-level'], 'debug');
  assert.equal(clashConfigs(factsOf({ status: undefined }))['log-level'], 'warning');
});

test('providers are the subscriptions, and default for the rest', () => {
  const userinfo = { upload: 1, download: 2, total: 100, expire: 1_800_000_000 };
  const subscriptions = [{ name: 'lists', nodes: ['osaka', 'gone'], updated: NOW, userinfo }];
  const providers = clashProviders(factsOf({ subscriptions }), noDelays());
  const lists = providers.get('lists');
  assert.deepEqual(
    { ...lists, proxies: lists?.proxies.map(({ name }) => name) },
    {
      name: 'lists',
      type: 'Proxy',
      proxies: ['osaka'],
      testUrl: 'http://cp.cloudflare.com/generate_204',
      expectedStatus: '*',
      updatedAt: new Date(NOW).toISOString(),
      subscriptionInfo: { Upload: 1, Download: 2, Total: 100, Expire: 1_800_000_000 },
      vehicleType: 'HTTP',
    },
  );
  assert.deepEqual(
    providers.get('default')?.proxies.map(({ name }) => name),
    ['office', 'tokyo (outbound)', 'direct', 'blackhole'],
  );
  const { osaka } = clashProxies(factsOf({ subscriptions }), noDelays());
  assert.equal(osaka?.['provider-name'], 'lists');
});

test('lines of the log in both forms', () => {
  const at = new Date(2026, 10, 24, 4, 5, 6).getTime();
  const line = {
    at,
    level: 'warn',
    target: 'svc_app',
    message: 'slow',
    fields: { port: 443 },
  } as const;
  assert.deepEqual(clashLogLine(line, false), { type: 'warning', payload: 'svc_app: slow' });
  assert.deepEqual(clashLogLine(line, true), {
    time: '04:05:06',
    level: 'warn',
    message: 'svc_app: slow',
    fields: [{ key: 'port', value: '443' }],
  });
  assert.deepEqual(lostLogLine(2, at, false), {
    type: 'warning',
    payload: 'clash_api: 2 lines were lost: the reader was too slow',
  });
});
