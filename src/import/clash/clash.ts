import type { ForeignObject } from '../../protocols/forms/foreign-object.ts';
import { CLASH_DOCUMENT_KEYS, CLASH_KEYS } from '../keys/clash.ts';
import type { DefaultRoute, DocumentKey, Routing, RuleEntry, Target } from '../routing.ts';
import { bounded, TargetNames } from '../targets.ts';
import { keysOf } from '../verdicts.ts';
import { readDns } from './dns.ts';
import { readGroups } from './groups.ts';
import { readInbounds } from './inbounds.ts';
import { CATCH_ALL, partsOf, readRules } from './rules.ts';
import { serverIn } from '../../protocols/forms/clash.ts';
import { ImportError, type Draft } from '../../protocols/forms/draft.ts';
import { allForms } from '../../protocols/registry.ts';
import type { ImportedEntry } from '../entry.ts';
import { nameOf, readEntry, type EntryReader } from '../read-entry.ts';

const READER: EntryReader = {
  name: 'name',
  verdicts: CLASH_KEYS,
  read: readProxy,
  family: familyOf,
};

/** Reads the `proxies` of a configuration of Clash or mihomo. */
const readProxies = (proxies: readonly unknown[]): readonly ImportedEntry[] =>
  bounded('servers', proxies).map((each) => readEntry(each, READER));

const FAMILIES: ReadonlyMap<string, string | undefined> = new Map([
  ['', undefined],
  ['dual', undefined],
  ['ipv4', 'ipv4_only'],
  ['ipv6', 'ipv6_only'],
  ['ipv4-prefer', 'prefer_ipv4'],
  ['ipv6-prefer', 'prefer_ipv6'],
]);

/** The address family of a proxy. @throws {ImportError} for an unknown version */
function familyOf(fields: ForeignObject): string | undefined {
  const version = fields.text('ip-version') ?? '';
  if (FAMILIES.has(version)) return FAMILIES.get(version);
  throw new ImportError(`the ip-version ${JSON.stringify(version)} is unknown`);
}

function readProxy(fields: ForeignObject): Draft {
  const type = fields.text('type') ?? '';
  const name = fields.text('name') ?? '';
  const form = allForms().find(({ clash }) => clash?.type === type)?.clash;
  if (form) return form.read(fields, name);
  serverIn(fields, name); // an entry without a server is reported as such, whatever its type
  throw new ImportError(`the type ${JSON.stringify(type)} is not supported`);
}

/** Clash's built-in outbounds. */
const BUILT_IN: ReadonlyMap<string, Target> = new Map([
  ['DIRECT', { kind: 'direct' }],
  ['COMPATIBLE', { kind: 'direct' }],
  ['REJECT', { kind: 'blackhole' }],
  ['REJECT-DROP', { kind: 'blackhole' }],
]);

/** Key names of older versions, by their current ones. */
const OLD_KEYS = { proxies: 'Proxy', 'proxy-groups': 'Proxy Group', rules: 'Rule' } as const;

/** The list at a key, or at its older name. */
const listOf = (document: ForeignObject, key: keyof typeof OLD_KEYS): readonly unknown[] =>
  document.states(key) ? document.entries(key) : document.entries(OLD_KEYS[key]);

/** Weir's log levels for those of Clash. */
const LEVELS: ReadonlyMap<string, string> = new Map([
  ['silent', 'off'],
  ['error', 'error'],
  ['warning', 'warn'],
  ['info', 'info'],
  ['debug', 'debug'],
]);

/** Reads a configuration of Clash or mihomo. */
export function readClash(document: ForeignObject): Routing {
  const proxies = bounded('servers', listOf(document, 'proxies'));
  const written = bounded('rules', listOf(document, 'rules'));
  const groups = bounded('groups', listOf(document, 'proxy-groups'));
  const names = new TargetNames({
    entries: proxies.map((each) => nameOf(each, 'name')),
    groups: groups.map((each) => nameOf(each, 'name')),
    builtIn: BUILT_IN,
  });
  const { dns, keys } = readDns(document.fields('dns'));
  const mode = modeOf(document);
  const level = document.text('log-level');
  const inbounds = readInbounds(document);
  return {
    entries: readProxies(proxies),
    groups: readGroups(groups, proxies, names, document.states('proxy-providers')),
    rules: mode === 'rule' ? readRules(written, names) : unusedRules(written, mode),
    standard: defaultOf(mode, written, names),
    inbounds,
    dns,
    logLevel: level === undefined ? undefined : LEVELS.get(level),
    keys: [...keys, ...modeKeys(mode, names), ...keysOf(document, CLASH_DOCUMENT_KEYS)],
  };
}

type Mode = 'rule' | 'global' | 'direct';

function modeOf(document: ForeignObject): Mode {
  const mode = (document.text('mode') ?? '').toLowerCase();
  return mode === 'global' || mode === 'direct' ? mode : 'rule';
}

function modeKeys(mode: Mode, names: TargetNames): readonly DocumentKey[] {
  if (mode !== 'global' || names.of('GLOBAL').kind !== 'missing') return [];
  const reason = 'the server chosen in GLOBAL is not in the document; the first one is used';
  return [{ path: 'mode', status: 'skipped', reason }];
}

/** Rules of a document in a mode other than `rule`, in which they have no effect. */
const unusedRules = (rules: readonly unknown[], mode: Mode): readonly RuleEntry[] =>
  rules.map((rule) => ({
    source: typeof rule === 'string' ? rule.slice(0, 200) : typeof rule,
    needless: `rules have no effect in the mode "${mode}"`,
  }));

/** The target of the rule that matches everything; without such a rule Clash connects directly. */
function defaultOf(mode: Mode, rules: readonly unknown[], names: TargetNames): DefaultRoute {
  if (mode === 'direct') return { kind: 'direct' };
  if (mode === 'global') {
    const target = names.of('GLOBAL');
    return target.kind === 'missing' ? { kind: 'unstated' } : target;
  }
  if (rules.length === 0) return { kind: 'unstated' };
  const last = rules.find((rule) => typeof rule === 'string' && isCatchAll(rule));
  return typeof last === 'string' ? names.of(partsOf(last).target) : { kind: 'direct' };
}

const isCatchAll = (rule: string): boolean =>
  rule.includes(',') && CATCH_ALL.has((rule.split(',', 1)[0] ?? '').trim().toUpperCase());
