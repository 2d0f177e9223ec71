import { LOCAL_LISTENERS } from '@weir/config/documents';
import { basicString } from '@weir/config/text';
import {
  clashDocument,
  type Formed,
  inForm,
  objectsOf,
  type Shared,
  textsOf,
} from '@weir/nodes/share';
import { comment } from '@weir/nodes/import/write/tables';
import { printableJson, printableJsonLines } from '@weir/base/printable';
import type { LinkFormat } from './format.ts';

/** The servers of a user as a client's program reads them. */
export interface LinkDocument {
  readonly type: string;
  /** What a file of it is called after the dot. */
  readonly extension: string;
  readonly text: string;
}

const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json';

/** Names of groups and of what else a document has; names of servers have a space. */
const CHOSEN = 'proxy';
const FASTEST = 'fastest';

/** What groups fetch to compare servers, as the programs do by themselves. */
const PROBE_URL = 'https://www.gstatic.com/generate_204';
const PROBE_SECONDS = 300;

/**
 * The document of a user's servers. Those that a form has no way to express are left out.
 * @throws {ShareError} when none is left
 */
export function linkDocument(
  servers: readonly Shared[],
  format: Exclude<LinkFormat, 'page'>,
): LinkDocument {
  const notes: string[] = [];
  const formed = (form: Parameters<typeof inForm>[1]): readonly Formed[] =>
    inForm(servers, form, (text) => notes.push(text));
  switch (format) {
    case 'links':
      return { type: TEXT, extension: 'txt', text: linkLines(formed('link')) };
    case 'base64': {
      const text = Buffer.from(linkLines(formed('link'))).toString('base64');
      return { type: TEXT, extension: 'txt', text: `${text}\n` };
    }
    case 'clash':
      return { type: 'text/yaml; charset=utf-8', extension: 'yaml', text: clash(formed('clash')) };
    case 'sing-box':
      return { type: JSON_TYPE, extension: 'json', text: singBox(formed('sing-box')) };
    case 'xray':
      return { type: JSON_TYPE, extension: 'json', text: xray(formed('xray')) };
    case 'weir':
      return { type: 'application/toml', extension: 'toml', text: weir(formed('weir'), notes) };
    default:
      return format satisfies never;
  }
}

const linkLines = (formed: readonly Formed[]): string => `${textsOf(formed).join('\n')}\n`;

const namesOf = (formed: readonly Formed[]): readonly string[] =>
  formed.map(({ server }) => server.name);

/** Networks that clients reach directly. */
const PRIVATE_IPV4 = ['10.0.0.0/8', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'] as const;

/** A profile of mihomo. Items are in JSON, which is YAML. */
function clash(formed: readonly Formed[]): string {
  const names = namesOf(formed);
  const groups = [
    { name: CHOSEN, type: 'select', proxies: [FASTEST, ...names] },
    {
      name: FASTEST,
      type: 'url-test',
      url: PROBE_URL,
      interval: PROBE_SECONDS,
      proxies: names,
    },
  ];
  const rules = [
    ...PRIVATE_IPV4.map((network) => `IP-CIDR,${network},DIRECT,no-resolve`),
    `MATCH,${CHOSEN}`,
  ];
  return [
    'mixed-port: 7890\nmode: rule\n',
    clashDocument(objectsOf(formed)),
    yamlList('proxy-groups', groups),
    yamlList('rules', rules),
  ].join('');
}

const yamlList = (key: string, items: readonly unknown[]): string =>
  `${key}:\n${items.map((item) => `  - ${printableJson(item)}\n`).join('')}`;

/** A profile of sing-box from 1.12 on, for all traffic of the device. */
function singBox(formed: readonly Formed[]): string {
  const names = namesOf(formed);
  return `${printableJsonLines({
    log: { level: 'warn' },
    dns: {
      servers: [
        { type: 'tls', tag: 'remote', server: '1.1.1.1', detour: CHOSEN },
        { type: 'local', tag: 'local' },
      ],
      final: 'remote',
    },
    inbounds: [
      {
        type: 'tun',
        tag: 'tun',
        address: ['172.19.0.1/30', 'fdfe:dcba:9876::1/126'],
        auto_route: true,
        strict_route: true,
      },
      { type: 'mixed', tag: 'mixed', listen: '127.0.0.1', listen_port: 2080 },
    ],
    outbounds: [
      { type: 'selector', tag: CHOSEN, outbounds: [FASTEST, ...names] },
      {
        type: 'urltest',
        tag: FASTEST,
        outbounds: names,
        url: PROBE_URL,
        interval: `${PROBE_SECONDS}s`,
      },
      ...objectsOf(formed),
      { type: 'direct', tag: 'direct' },
    ],
    route: {
      rules: [
        { action: 'sniff' },
        { protocol: 'dns', action: 'hijack-dns' },
        { ip_is_private: true, action: 'route', outbound: 'direct' },
      ],
      final: CHOSEN,
      auto_detect_interface: true,
      default_domain_resolver: 'local',
    },
  })}\n`;
}

/** A configuration of Xray: SOCKS on its usual port, through the first server. */
const xray = (formed: readonly Formed[]): string =>
  `${printableJsonLines({
    log: { loglevel: 'warning' },
    inbounds: [
      {
        tag: 'socks',
        listen: '127.0.0.1',
        port: 10_808,
        protocol: 'socks',
        settings: { udp: true },
      },
    ],
    outbounds: objectsOf(formed),
  })}\n`;

/** A configuration of a client: the listeners of the built-in one, through the first server. */
function weir(formed: readonly Formed[], notes: readonly string[]): string {
  const [first = '', ...others] = namesOf(formed);
  const alternatives = others.map((name) => comment(`or ${basicString(name)}`)).join('');
  const head = notes.map((note) => comment(note)).join('');
  return `${head}${LOCAL_LISTENERS}
${textsOf(formed).join('\n')}
[route]
default = ${basicString(first)}
${alternatives}`;
}
