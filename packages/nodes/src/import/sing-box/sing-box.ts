import { ImportError, type Draft } from '@weir/proxy/protocols/forms';
import { ForeignObject, isEmpty } from '@weir/proxy/protocols/forms';
import { serverIn } from '@weir/proxy/protocols/forms/sing-box';
import { allForms } from '@weir/proxy/protocols';
import { nameOf, readEntries, portsOf, type EntryReader } from '../entry.ts';
import {
  SING_BOX_DOCUMENT_KEYS,
  SING_BOX_GROUP_KEYS,
  SING_BOX_KEYS,
  SING_BOX_DNS_KEYS,
} from '../keys/sing-box.ts';
import {
  levelOf,
  type RuleEntry,
  type Routing,
  type Target,
  type ForeignGroup,
  type DnsDraft,
  type DocumentKey,
  bounded,
  groupOrReason,
  TargetNames,
  NOT_RESOLVED,
  isDirect,
} from '../routing.ts';
import { dnsDraft, dnsUrlOf } from '../values/dns-server.ts';
import { keysOf, notesOn } from '../verdicts.ts';
import { readInboundOf, secondsOf } from './inbounds.ts';
import { RuleSets } from './rule-sets.ts';
import { readRule } from './rules.ts';

const READER: EntryReader = {
  name: 'tag',
  verdicts: SING_BOX_KEYS,
  read: readOutbound,
  family: familyOf,
};

/** The `domain_strategy` of an outbound, or that of its resolver; Weir accepts the same values. */
function familyOf(fields: ForeignObject): string | undefined {
  const own = fields.text('domain_strategy') ?? '';
  const resolver = fields.list('domain_resolver')[0];
  const strategy =
    own === '' && typeof resolver === 'object'
      ? fields.fields('domain_resolver').text('strategy')
      : own;
  return strategy === '' ? undefined : strategy;
}

function readOutbound(fields: ForeignObject): Draft {
  const type = fields.text('type') ?? '';
  const name = fields.text('tag') ?? '';
  const form = allForms().find(({ singBox }) => singBox?.type === type)?.singBox;
  if (form) return form.read(fields, name);
  serverIn(fields, name); // an entry without a server is reported as such, whatever its type
  throw new ImportError(`the type ${JSON.stringify(type)} is not supported`);
}

/** Reads a `selector`, which stands for its initial member, or an `urltest`. */
function readGroup(value: unknown, names: TargetNames): ForeignGroup {
  const fields = new ForeignObject(value);
  const members = fields.list('outbounds').filter((each) => typeof each === 'string');
  const name = fields.text('tag') ?? '';
  const targets = members.map((each) => names.of(each));
  if (fields.text('type') === 'selector') {
    const chosen = fields.text('default') ?? '';
    return {
      name,
      strategy: 'select',
      members: targets,
      chosen: chosen === '' ? undefined : members.indexOf(chosen),
      notes: notesOn(fields, SING_BOX_GROUP_KEYS),
    };
  }
  const interval = fields.text('interval') ?? '';
  return {
    name,
    strategy: 'failover',
    members: targets,
    interval: interval === '' ? DEFAULT_INTERVAL : secondsOf(interval),
    notes: [
      'the first member that works is used, not the fastest',
      ...notesOn(fields, SING_BOX_GROUP_KEYS),
    ],
  };
}

/** Default seconds between the tests of an `urltest`. */
const DEFAULT_INTERVAL = 180;

const GROUPS: ReadonlySet<string> = new Set(['selector', 'urltest']);

const typeOf = (value: unknown): string => nameOf(value, 'type');

/** Reads a configuration of sing-box. */
export function readSingBox(document: ForeignObject): Routing {
  const all = [...document.entries('outbounds'), ...document.entries('endpoints')];
  const groups = bounded(
    'groups',
    all.filter((each) => GROUPS.has(typeOf(each))),
  );
  const dnsOutbounds = all.filter((each) => typeOf(each) === 'dns');
  const servers = bounded(
    'servers',
    all.filter((each) => !GROUPS.has(typeOf(each)) && typeOf(each) !== 'dns'),
  );
  const names = new TargetNames({
    entries: servers.map((each) => nameOf(each, 'tag')),
    groups: groups.map((each) => nameOf(each, 'tag')),
  });
  const entries = readEntries(servers, READER);
  const goesDirectly = (name: string): boolean => isDirect(names.of(name), entries);
  const route = document.fields('route');
  const dns = readDns(document.fields('dns'), resolverOf(route), goesDirectly);
  const final = route.text('final') ?? '';
  const first = servers.indexOf(all[0]);
  const standard: Target =
    final === '' && first >= 0
      ? { kind: 'entry', index: first }
      : names.of(final === '' ? nameOf(all[0], 'tag') : final);
  const rules = bounded('rules', route.entries('rules'));
  const inbounds = bounded('inbounds', document.entries('inbounds'));
  const scope = {
    names,
    ruleSets: new RuleSets(bounded('groups', route.entries('rule_set'))),
    dnsOutbounds: new Set(dnsOutbounds.map((each) => nameOf(each, 'tag'))),
    mode: modeOf(document),
    queries: dns.isDetoured ? undefined : DIRECT,
    resolved: rules.some((each) => sendsAddresses(each, goesDirectly)) ? undefined : DIRECT,
  };
  const read = rules.map((rule, index) => readRule(rule, `route.rules[${index}]`, scope));
  const inboundScope = { isSniffed: sniffingOf(rules), taken: portsOf(inbounds, 'listen_port') };
  return {
    entries,
    groups: groups.map((each) => groupOrReason(nameOf(each, 'tag'), () => readGroup(each, names))),
    rules: [...resolvingInbounds(inbounds, scope.resolved), ...read],
    standard,
    inbounds: inbounds.map((each, index) =>
      readInboundOf(each, `inbounds[${index}]`, inboundScope),
    ),
    dns: dns.dns,
    logLevel: logLevelOf(document.fields('log')),
    keys: [...dns.keys, ...keysOf(document, SING_BOX_DOCUMENT_KEYS)],
  };
}

const DIRECT: Target = { kind: 'direct' };

/** The name of the DNS server that resolves the addresses of outbounds. */
function resolverOf(route: ForeignObject): string {
  const [value] = route.entries('default_domain_resolver');
  if (typeof value === 'string') return value;
  return route.fields('default_domain_resolver').text('server') ?? '';
}

/** sing-box's initial mode of the Clash API, in lower case. */
const modeOf = (document: ForeignObject): string =>
  (
    document.fields('experimental').fields('clash_api').text('default_mode') || 'Rule'
  ).toLowerCase();

/** Conditions on addresses, which names match once they are resolved. */
const BY_ADDRESS = ['ip_cidr', 'ip_is_private', 'geoip', 'rule_set', 'rules'] as const;

/** Whether a rule routes flows by their addresses to an outbound that is not direct. */
function sendsAddresses(value: unknown, goesDirectly: (outbound: string) => boolean): boolean {
  const fields = new ForeignObject(isObject(value) ? value : undefined);
  if (!BY_ADDRESS.some((key) => fields.has(key))) return false;
  return nameOf(value, 'action') !== 'direct' && !goesDirectly(nameOf(value, 'outbound'));
}

/**
 * Skipped rules that report `domain_strategy` of inbounds, an older way to resolve the names of flows before rules are
 * applied.
 */
const resolvingInbounds = (
  inbounds: readonly unknown[],
  target: Target | undefined,
): readonly RuleEntry[] =>
  inbounds.flatMap((each, index) =>
    nameOf(each, 'domain_strategy') === ''
      ? []
      : [
          {
            source: `inbounds[${index}].domain_strategy`,
            isKey: true,
            skipped: NOT_RESOLVED,
            target,
          },
        ],
  );

/** A predicate for the inbounds that actions of rules sniff. */
function sniffingOf(rules: readonly unknown[]): (inbound: string) => boolean {
  const sniffed = new Set<unknown>();
  for (const each of rules) {
    if (nameOf(each, 'action') !== 'sniff') continue;
    const fields = new ForeignObject(each);
    if (!fields.has('inbound')) return () => true;
    for (const inbound of fields.list('inbound')) sniffed.add(inbound);
  }
  return (inbound) => sniffed.has(inbound);
}

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The DNS settings of a document. */
interface DnsReading {
  readonly dns?: DnsDraft | undefined;
  readonly keys: readonly DocumentKey[];
  /** Whether a server is reached through an outbound other than a direct one. */
  readonly isDetoured: boolean;
}

/**
 * The server by which sing-box's own connections are resolved: `route.default_domain_resolver`, `dns.final`, or the
 * first. Weir has no equivalent for the others.
 * @param goesDirectly whether an outbound name is a direct one
 */
function readDns(
  dns: ForeignObject,
  resolver: string,
  goesDirectly: (outbound: string) => boolean,
): DnsReading {
  const servers = dns.entries('servers');
  const final = dns.text('final') ?? '';
  const wanted = [resolver, final].find((each) => each !== '');
  const at = servers.findIndex((each) =>
    wanted === undefined ? !isEmpty(each) : nameOf(each, 'tag') === wanted,
  );
  const keys: DocumentKey[] = [];
  let draft: DnsDraft | undefined;
  for (const [index, each] of servers.entries()) {
    const path = `dns.servers[${index}]`;
    if (index !== at) {
      keys.push({ path, status: 'skipped', reason: 'Weir has one DNS server' });
      continue;
    }
    try {
      const { dns: found, notes } = serverOf(each, path, goesDirectly);
      draft = found;
      if (found) keys.push(...notes.map((reason) => skipped(path, reason)));
      else keys.push({ path, status: 'same', reason: "the system's resolver" });
    } catch (error) {
      if (!(error instanceof ImportError)) throw error;
      keys.push(skipped(path, `${error.message}; the system's resolver is used`));
    }
  }
  return { dns: draft, keys, isDetoured: servers.some((each) => isDetoured(each, goesDirectly)) };
}

const skipped = (path: string, reason: string): DocumentKey => ({
  path,
  status: 'skipped',
  reason,
});

function isDetoured(server: unknown, goesDirectly: (outbound: string) => boolean): boolean {
  const detour = nameOf(server, 'detour');
  return detour !== '' && !goesDirectly(detour);
}

interface ServerReading {
  /** Absent for the system's resolver. */
  readonly dns?: DnsDraft;
  readonly notes: readonly string[];
}

/** Reads a server. @throws {ImportError} for one that Weir does not support */
function serverOf(
  value: unknown,
  source: string,
  goesDirectly: (outbound: string) => boolean,
): ServerReading {
  const fields = new ForeignObject(value);
  const detour = fields.text('detour') ?? '';
  if (detour !== '' && !goesDirectly(detour)) {
    throw new ImportError(
      `queries go through the outbound ${JSON.stringify(detour)}, which Weir's cannot`,
    );
  }
  fields.text('tag');
  const type = fields.text('type') ?? '';
  const dns =
    type === '' || type === 'legacy' ? byUrl(fields, source) : byType(type, fields, source);
  return { ...(dns && { dns }), notes: notesOn(fields, SING_BOX_DNS_KEYS) };
}

/** Reads a server in the older form, in which `address` is a URL. */
function byUrl(fields: ForeignObject, source: string): DnsDraft | undefined {
  const { scheme, host, port, path } = dnsUrlOf(fields.needText('address'));
  switch (scheme) {
    case '':
      if (host === 'local') return undefined;
      return dnsDraft({ source, backend: 'udp', host, port });
    case 'udp':
    case 'tls':
      return dnsDraft({ source, backend: scheme, host, port });
    case 'https':
      return dnsDraft({ source, backend: scheme, host, port, path: path === '' ? '/' : path });
    default:
      throw new ImportError(`DNS by ${JSON.stringify(scheme)} is not supported`);
  }
}

function byType(type: string, fields: ForeignObject, source: string): DnsDraft | undefined {
  switch (type) {
    case 'local':
      fields.flag('prefer_go');
      return undefined;
    case 'udp':
    case 'tls':
    case 'https': {
      const tls = fields.fields('tls');
      return dnsDraft({
        source,
        backend: type,
        host: fields.needText('server'),
        port: fields.number('server_port') || undefined,
        serverName: tls.text('server_name'),
        caFile: tls.text('certificate_path'),
        path: fields.text('path'),
      });
    }
    default:
      throw new ImportError(`DNS by ${JSON.stringify(type)} is not supported`);
  }
}

/** Converts sing-box's `log` to `[log].level`. */
export function logLevelOf(log: ForeignObject): string | undefined {
  const level = log.text('level') ?? '';
  return log.flag('disabled') ? 'off' : levelOf(level);
}
