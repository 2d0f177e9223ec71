/** Configurations of any size, each long in another place. */
import { freedom, socksIn } from '../../../test/support/process/config.ts';
import { API } from '../../../test/support/process/control.ts';
import { encodeGeosite } from '../../../test/support/data/geo-fixture.ts';

/** The files of one configuration beside the configuration file, by name. */
export interface LargeConfig {
  readonly config: string;
  readonly files: Readonly<Record<string, string | Uint8Array>>;
}

/** `changed` makes a variant that differs in one place. */
type Write = (bytes: number, folder: string, changed: boolean) => LargeConfig;

export const SMALL = API + socksIn('socks', 'sniffing = false') + freedom();

/** More listeners than this run into the limits of descriptors. */
const MOST_INBOUNDS = 3000;

/** Each of their members, 24,000 in all, is probed by a connection of its own. */
const MOST_BALANCERS_BYTES = 245 * 1024;

/** Lines until they are that long together. */
function fill(bytes: number, line: (index: number) => string): string[] {
  const lines: string[] = [];
  for (let length = 0; length < bytes; length += lines.at(-1)?.length ?? 1) {
    lines.push(line(lines.length));
  }
  return lines;
}

/** The first of the lines is another one in the variant. */
const item = (index: number, changed: boolean): string =>
  index === 0 && changed ? 'changed' : `n${index}`;

const hex = (index: number, digits: number): string => index.toString(16).padStart(digits, '0');

const uuid = (index: number): string => `b831381d-6324-4d53-ad4f-${hex(index, 12)}`;

const key = (index: number): string => Buffer.from(hex(index, 16)).toString('base64');

const plus = (config: string, files: LargeConfig['files'] = {}): LargeConfig => ({
  config: SMALL + config,
  files,
});

/** An inbound with a list of users. */
const withUsers = (
  head: string,
  list: string,
  user: (index: number, changed: boolean) => string,
): Write => {
  const table = `[[inbound]]\ntag = "large"\nport = 0\n${head}`;
  return (bytes, _, changed) =>
    plus(`${table}${list} = [\n${fill(bytes, (i) => `  ${user(i, changed)},\n`).join('')}]\n`);
};

/** A rule with a list. */
const withList = (key: string, text: (index: number, changed: boolean) => string): Write => {
  return (bytes, _, changed) =>
    plus(
      `[[route.rule]]\noutbound = "direct"\n${key} = [\n` +
        `${fill(bytes, (i) => `  ${JSON.stringify(text(i, changed))},\n`).join('')}]\n`,
    );
};

const node = (array: string, name: string, i: number, changed: boolean): string =>
  `[[${array}]]\n${name} = "node${i}"\nprotocol = "trojan"\nserver = "127.0.0.1"\n` +
  `port = ${i === 0 && changed ? 2 : 1}\nsettings = { password = "a password ${i}" }\n\n`;

export const KINDS: Readonly<Record<string, Write>> = {
  rules: (bytes, _, changed) =>
    plus(
      fill(
        bytes,
        (i) =>
          `[[route.rule]]\noutbound = "direct"\n` +
          `domain_suffix = ["${item(i, changed)}.example", "www.${i}.test"]\nport = ["443"]\n\n`,
      ).join(''),
    ),
  'one rule, names': withList('domain_suffix', (i, changed) => `${item(i, changed)}.example`),
  'one rule, keywords': withList('domain_keyword', (i, changed) => `${item(i, changed)}word`),
  'one rule, networks': withList('cidr', (i, changed) => {
    const n = i * 7919 + (i === 0 && changed ? 1 : 0);
    return `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}/32`;
  }),
  'one rule, patterns': withList('domain_regex', (i, changed) => `^${item(i, changed)}[.]test$`),
  outbounds: (bytes, _, changed) =>
    plus(fill(bytes, (i) => node('outbound', 'tag', i, changed)).join('')),
  balancers: (bytes, _, changed) => {
    const members = Array.from({ length: 100 }, (_, i) => node('outbound', 'tag', i, changed));
    const named = JSON.stringify(Array.from({ length: 100 }, (_, i) => `node${i}`));
    const balancers = fill(
      Math.min(bytes, MOST_BALANCERS_BYTES),
      (i) => `[[balancer]]\ntag = "balancer${i}"\noutbounds = ${named}\n\n`,
    );
    return plus([...members, ...balancers].join(''));
  },
  'vmess users': withUsers('protocol = "vmess"\n[inbound.settings]\n', 'users', (i, changed) => {
    return `{ id = "${uuid(i === 0 && changed ? 0xffffff : i)}" }`;
  }),
  'vless users': withUsers('protocol = "vless"\n[inbound.settings]\n', 'users', (i, changed) => {
    return `{ id = "${uuid(i === 0 && changed ? 0xffffff : i)}" }`;
  }),
  'trojan users': withUsers('protocol = "trojan"\n[inbound.settings]\n', 'users', (i, changed) => {
    return `{ password = "${item(i, changed)}", email = "user${i}" }`;
  }),
  'socks accounts': withUsers(
    'protocol = "socks"\n[inbound.settings]\nauth = "password"\n',
    'accounts',
    (i, changed) => `{ user = "user${i}", pass = "${item(i, changed)}" }`,
  ),
  'http accounts': withUsers(
    'protocol = "http"\n[inbound.settings]\n',
    'accounts',
    (i, changed) => `{ user = "user${i}", pass = "${item(i, changed)}" }`,
  ),
  'shadowsocks 2022 users': withUsers(
    `protocol = "shadowsocks"\n[inbound.settings]\nmethod = "2022-blake3-aes-128-gcm"\npassword = "${key(0)}"\n`,
    'users',
    (i, changed) => `{ password = "${key(i === 0 && changed ? 0xffffff : i + 1)}" }`,
  ),
  'shadowsocks users': withUsers(
    'protocol = "shadowsocks"\n[inbound.settings]\nmethod = "aes-256-gcm"\npassword = "unused"\n',
    'users',
    (i, changed) => `{ password = "${item(i, changed)}", email = "user${i}" }`,
  ),
  inbounds: (bytes, _, changed) => {
    // Each is as long as it must be.
    const each = Math.max(1, Math.ceil(bytes / MOST_INBOUNDS / 40));
    return plus(
      fill(bytes, (i) => {
        const accounts = Array.from(
          { length: each },
          (_, n) => `  { user = "user${n}", pass = "${item(i, changed)}" },\n`,
        );
        return (
          `[[inbound]]\ntag = "in${i}"\nprotocol = "http"\nport = 0\n` +
          `[inbound.settings]\naccounts = [\n${accounts.join('')}]\n\n`
        );
      }).join(''),
    );
  },
  'subscribe nodes': (bytes, folder, changed) => ({
    config: `${SMALL}[subscribe]\npath = ${JSON.stringify(`${folder}/subscribe.toml`)}\n`,
    files: {
      'subscribe.toml': fill(bytes, (i) => node('proxy_server', 'name', i, changed)).join(''),
    },
  }),
  'subscribe groups': (bytes, folder, changed) => {
    const groups = fill(
      bytes,
      (i) =>
        `[[route_group]]\nname = "group${i}"\ninherit = "direct"\n` +
        `[[route_group.rule]]\ndomain_suffix = ["${item(i, changed)}.example"]\n\n`,
    );
    return {
      config: `${SMALL}[subscribe]\npath = ${JSON.stringify(`${folder}/subscribe.toml`)}\n`,
      files: { 'subscribe.toml': groups.join('') },
    };
  },
  'geosite lists': (bytes, folder, changed) => {
    const codes: string[] = [];
    const named = fill(bytes, (i) => {
      codes.push(`LIST${i}`);
      return `  "list${i}",\n`;
    });
    const domains = (code: string) =>
      Array.from({ length: 4 }, (_, i) => ({
        type: 'root' as const,
        value: `${i === 0 && changed ? 'changed' : 'name'}${i}.${code.toLowerCase()}.example`,
      }));
    return {
      config:
        `${SMALL}[route]\ngeosite = ${JSON.stringify(`${folder}/geosite.dat`)}\n\n` +
        `[[route.rule]]\noutbound = "direct"\ngeosite = [\n${named.join('')}]\n`,
      files: {
        'geosite.dat': encodeGeosite(codes.map((code) => ({ code, domains: domains(code) }))),
      },
    };
  },
};
