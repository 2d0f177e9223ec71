import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readForeign } from '../../../src/import/document.ts';
import { settleDefault, Targets } from '../../../src/import/write/settle.ts';
import '../../../../../test/support/import/load-forms.ts';

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const server = (tag: string): object => ({
  type: 'socks',
  tag,
  server: 'a.example',
  server_port: 1,
});
const reality = (tag: string): object => ({
  type: 'vless',
  tag,
  server: 'a.example',
  server_port: 1,
  uuid: ID,
  tls: { enabled: true, reality: { enabled: true } },
});
const direct = { type: 'direct', tag: 'direct' };
const rules = [{ process_name: ['x'], outbound: 'a' }];

const singBox = (outbounds: readonly object[], route: object = {}): string =>
  JSON.stringify({ outbounds, route });
const xray = (outbounds: readonly object[], routing: object = {}): string =>
  JSON.stringify({ outbounds, routing });

const XRAY_SERVER = {
  protocol: 'socks',
  tag: 'a',
  settings: { servers: [{ address: 'a.example', port: 1 }] },
};
const XRAY_REALITY = {
  protocol: 'vless',
  tag: 'b',
  settings: { address: 'a.example', port: 1, id: ID },
  streamSettings: { security: 'reality' },
};

const CLASH_PROXIES = `proxies:
  - {name: a, type: socks5, server: a.example, port: 1}
  - {name: b, type: vless, server: a.example, port: 1, uuid: ${ID}, tls: true, reality-opts: {public-key: x}}
`;

/** The default of a document: the index of its entry, or what becomes of flows. */
function defaultOf(document: string): { readonly tag: string; readonly problem: string } {
  const imported = readForeign(document);
  const { settled, problem = '' } = settleDefault(imported, new Targets(imported));
  if (settled.kind === 'lost') return { tag: 'blackhole', problem };
  return { tag: String(settled.index ?? settled.kind), problem };
}

describe('the default of a document', () => {
  for (const [what, document, tag, problem] of [
    ['is the first outbound of sing-box', singBox([server('a'), server('b')]), '0', ''],
    ['is route.final of sing-box', singBox([server('a'), server('b')], { final: 'b' }), '1', ''],
    [
      'is the outbound with which a selector begins',
      singBox([
        { type: 'selector', tag: 's', outbounds: ['a', 'b'], default: 'b' },
        server('a'),
        server('b'),
      ]),
      '1',
      '',
    ],
    [
      'is the first member of a urltest group that can be imported',
      singBox([
        { type: 'urltest', tag: 's', outbounds: ['direct', 'b', 'a'] },
        direct,
        reality('b'),
        server('a'),
      ]),
      '2',
      '',
    ],
    ['is the first outbound of Xray', xray([XRAY_SERVER, XRAY_REALITY]), '0', ''],
    [
      'is the target of the rule of Clash that matches everything',
      `${CLASH_PROXIES}proxy-groups:\n  - {name: G, type: select, proxies: [a, b]}\nrules: ["DOMAIN,x,b", "MATCH,G"]\n`,
      '0',
      '',
    ],
    ['is any server of a list of Clash without rules', CLASH_PROXIES, '0', ''],
    ['is any server of share links', `vless://${ID}@a:1?security=reality\nsocks5://a:1\n`, '1', ''],
    ['may be a direct connection', singBox([direct, server('a')]), '0', ''],
    ['may be the one of Clash', `${CLASH_PROXIES}mode: direct\n`, 'direct', ''],
    ['may be to drop flows', `${CLASH_PROXIES}rules: ["MATCH,REJECT"]\n`, 'blackhole', ''],
    [
      'drops flows when the first outbound of sing-box is left out',
      singBox([reality('b'), direct, server('a')]),
      'blackhole',
      /"b", could not be imported: REALITY/,
    ],
    [
      'drops flows when a selector begins with an outbound that is left out',
      singBox([
        { type: 'selector', tag: 's', outbounds: ['b', 'direct', 'a'] },
        reality('b'),
        direct,
        server('a'),
      ]),
      'blackhole',
      /"s", could not be imported: REALITY/,
    ],
    [
      'drops flows when no member of a group but a direct connection is left',
      singBox([{ type: 'urltest', tag: 's', outbounds: ['b', 'direct'] }, reality('b'), direct]),
      'blackhole',
      /could not be imported/,
    ],
    [
      'drops flows when the first outbound of Xray is left out',
      xray([XRAY_REALITY, { protocol: 'freedom', tag: 'direct' }]),
      'blackhole',
      /"b", could not be imported/,
    ],
    [
      'drops flows when the target of Clash is left out',
      `${CLASH_PROXIES}rules: ["MATCH,b"]\n`,
      'blackhole',
      /"b", could not be imported/,
    ],
    [
      'drops flows when its name is not in the document',
      singBox([server('a')], { final: 'nowhere' }),
      'blackhole',
      /"nowhere", could not be imported: it is not one of its servers/,
    ],
    [
      'drops flows when groups name each other',
      singBox([
        { type: 'selector', tag: 's', outbounds: ['t'] },
        { type: 'selector', tag: 't', outbounds: ['s'] },
        server('a'),
      ]),
      'blackhole',
      /"s", could not be imported/,
    ],
    [
      'drops flows when only a direct connection is left of a list',
      `${CLASH_PROXIES.replace('socks5', 'tuic')}  - {name: d, type: direct}\n`,
      'blackhole',
      /No server of the document/,
    ],
    [
      'drops flows when rules that are not imported send flows to servers',
      singBox([direct, server('a')], { rules }),
      'blackhole',
      /not all of its rules, which send flows to servers, are imported/,
    ],
    [
      'drops flows when rules of Clash are not imported and it goes directly otherwise',
      `${CLASH_PROXIES}rules: ["PROCESS-NAME,x,a", "MATCH,DIRECT"]\n`,
      'blackhole',
      /not all of its rules, which send flows to servers, are imported/,
    ],
  ] as const) {
    test(what, () => {
      const found = defaultOf(document);
      assert.equal(found.tag, tag);
      if (typeof problem === 'string') assert.equal(found.problem, problem);
      else assert.match(found.problem, problem);
    });
  }
});
