import { DAY_MS } from '@weir/base/text/amounts';
import { type InboundProtocol } from '@weir/proxy/protocols';
import { type Examined, type Warning, WarningList, quotedShort } from './warning.ts';
import { warnOfListeners } from './listeners.ts';
import { warnOfRules } from './rules.ts';
import { warnOfShadowedRules } from './shadowed-rules.ts';
import { suggestion } from '@weir/proxy/schema';
import { readsAsTarget, unreadDirectives } from '@weir/base/log';
import type { LogTable } from '../tables/log.ts';
import { ipVersion } from '@weir/io/addresses';
import { type ApiTable, unsendableBecause } from '../api.ts';
import type { DnsTable } from '../tables/dns.ts';
import type { BalancerTable } from '../tables/balancer.ts';
import { inboundProtocol, outboundProtocol } from '@weir/proxy/protocols';
import { emptyTable, type Span, type Located, type TableNode } from '@weir/proxy/schema';
import type { InboundStreamSpec, OutboundStreamSpec } from '@weir/proxy/spec';
import type { StreamTable } from '../tables/stream.ts';
import { leafFacts } from '@weir/crypto/certificates';
import { textAt, valueAt } from '@weir/proxy/schema';
import { DEFAULT_GROUP, picksOf, defaultTarget, groupTargets } from '../route-targets.ts';
import { inheritOf } from '../sources/config-file.ts';

/**
 * Finds likely mistakes in a valid configuration, in document order and limited in number. Takes time linear in the
 * length of the files.
 */
export function warningsOf(examined: Examined): readonly Warning[] {
  const list = new WarningList();
  warnOfNpmHeader(examined.npmHeader, list);
  warnOfLog(examined.own.log, list);
  warnOfDns(examined.own.dns, list);
  warnOfApi(examined.apiTable, list);
  warnOfListeners(examined, list);
  warnOfSettings(examined, list);
  warnOfStreams(examined, list);
  warnOfCertificates(examined, list);
  warnOfBalancers(examined.own.balancer, list);
  warnOfUnused(examined, list);
  warnOfRules(examined, list);
  warnOfShadowedRules(examined, list);
  warnOfGroups(examined, list);
  return list.shown(examined.places);
}

/** Warns of the lines of npm, which other programs that read the file reject. */
function warnOfNpmHeader(length: number, list: WarningList): void {
  if (length === 0) return;
  // Its first line is empty.
  list.add(
    'npm-header',
    { start: 1, end: length },
    () =>
      'npm has written two lines here, which Weir ignores and other programs refuse: `npm -s start -- …` writes none',
  );
}

const LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace'];

/** Names of levels in other programs. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  warning: 'warn',
  err: 'error',
  critical: 'error',
  fatal: 'error',
  notice: 'info',
  information: 'info',
  verbose: 'debug',
  all: 'trace',
  none: 'off',
  silent: 'off',
  quiet: 'off',
};

/** The prefix of all targets of Weir. */
const OWN_TARGETS = 'svc_';

/** Warns of a mistyped level: it is read as the name of a target, and then nothing is logged, not even errors. */
function warnOfLog(table: LogTable | undefined, list: WarningList): void {
  if (!table?.level) return;
  const { value: level, span } = table.level;
  const warn = (message: string): void => list.add('log-level', span, () => `[log] ${message}`);
  const parts = level
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0) warn('level is empty: only errors are logged');
  for (const part of parts) {
    if (unreadDirectives(part).length > 0) {
      warn(`level: ${quotedShort(part)} is not a directive and is ignored`);
    } else if (readsAsTarget(part) && !part.startsWith(OWN_TARGETS)) {
      warn(
        `level: ${quotedShort(part)} is not a level but the name of a target, which Weir does not have${silence(parts)}${meant(part)}`,
      );
    }
  }
}

const silence = (parts: readonly string[]): string =>
  parts.length === 1 ? ': nothing is logged, not even errors' : '';

function meant(word: string): string {
  const level = ELSEWHERE[word.toLowerCase()] ?? suggestion(word, LEVELS);
  return level === undefined ? '' : `; did you mean ${quotedShort(level)}?`;
}

/** Warns of keys of `[dns]` without effect, and of a URL with which every query fails. */
function warnOfDns(table: DnsTable | undefined, list: WarningList): void {
  if (!table) return;
  const { backend, server, url } = table.value;
  const ignored = server ?? url;
  // With an explicit backend, keys of another one may be kept on purpose.
  if (!backend && ignored) {
    const key = server ? 'server' : 'url';
    const isUrl = server?.value.includes('://') === true;
    list.add(
      'dns-ignored',
      ignored.span,
      () =>
        `[dns] ${key} is ignored: without backend = "udp", "tls" or "https" the system resolves${isUrl ? '; a URL is the value of url, with backend = "https" and an IP address and port as server' : ''}`,
    );
  }
  const bracketed = url && IPV6_URL.exec(url.value)?.[1];
  if (backend?.value === 'https' && bracketed !== undefined && ipVersion(bracketed) === 6) {
    list.add(
      'setting-unusable',
      url?.span ?? table.span,
      () => '[dns] url has an IPv6 address: every query fails; write a name',
    );
  }
}

/**
 * Warns of a URL as `listen`, which is the path of a unix socket, and of a secret that no `Authorization` header can
 * have: the API rejects every request.
 */
function warnOfApi(table: ApiTable | undefined, list: WarningList): void {
  const listen = table?.listen;
  if (listen && /^[a-z]{1,10}:\/\//i.test(listen.value)) {
    list.add(
      'setting-unusable',
      listen.span,
      () => '[api] listen is a URL, which is taken for the path of a unix socket; write ip:port',
    );
  }
  const secret = table?.secret;
  const reason = secret && unsendableBecause(secret.value);
  if (reason) list.add('setting-unusable', secret.span, () => `[api] secret ${reason}`);
}

const IPV6_URL = /^https:\/\/\[([^\]]*)\]/;

/** Warns of valid intervals that make a balancer useless. */
function warnOfBalancers(balancers: readonly BalancerTable[], list: WarningList): void {
  for (const { tag, probeInterval, probeTimeout } of balancers) {
    const warn = (message: string): void =>
      list.add('balancer-timing', tag.span, () => `balancer ${tag.value}: ${message}`);
    if (probeTimeout === 0n) {
      warn('with probe_timeout = 0 almost every probe fails, and members count as unavailable');
    }
    if (probeInterval === 0n) {
      warn('with probe_interval = 0 connections to each member are opened without a pause');
    }
  }
}

/** Collects warnings of the protocols about their settings, and warns of inbounds that reject every client. */
function warnOfSettings({ own, spec }: Examined, list: WarningList): void {
  const addOwn = (
    subject: string,
    side: Pick<InboundProtocol<unknown>, 'warnings'>,
    settings: TableNode,
  ): void => {
    for (const { id, span, message } of side.warnings?.(settings) ?? []) {
      list.add(id, span, () => `${subject}: ${message}`);
    }
  };
  own.inbound.forEach(({ value: { tag, settings }, span }, index) => {
    const inbound = spec.inbounds[index];
    if (!inbound) return;
    const side = inboundProtocol(inbound.protocol);
    if (side.users(inbound.settings)?.length === 0) {
      list.add(
        'no-users',
        tag.span,
        () => `inbound ${tag.value} has no users, so it rejects every client`,
      );
    }
    addOwn(`inbound ${tag.value}`, side, settings ?? emptyTable(span));
  });
  own.outbound.forEach(({ value: { tag, settings }, span }, index) => {
    const outbound = spec.outbounds[index];
    if (!outbound) return;
    const side = outboundProtocol(outbound.protocol);
    addOwn(`outbound ${tag.value}`, side, settings ?? emptyTable(span));
  });
}

/** Warns of tables of a stream without effect, because the connection lacks the layer that they configure. */
function warnOfStreams({ own, spec }: Examined, list: WarningList): void {
  own.inbound.forEach(({ value: { tag, stream } }, index) => {
    const inbound = spec.inbounds[index];
    if (!inbound || !stream) return;
    const takes = inboundProtocol(inbound.protocol).stream;
    warnOfStream(`inbound ${tag.value}`, stream, { chosen: inbound.stream, takes }, list);
  });
  own.outbound.forEach(({ value: { tag, stream } }, index) => {
    const outbound = spec.outbounds[index];
    if (!outbound || !stream) return;
    const takes = outboundProtocol(outbound.protocol).stream;
    warnOfStream(`outbound ${tag.value}`, stream, { chosen: outbound.stream, takes }, list);
  });
}

interface Use {
  readonly chosen: InboundStreamSpec | OutboundStreamSpec | undefined;
  /** Whether the protocol supports streams at all. */
  readonly takes: boolean;
}

function warnOfStream(
  subject: string,
  { tls, ws, grpc }: StreamTable,
  { chosen, takes }: Use,
  list: WarningList,
): void {
  const carrier = chosen?.carrier.kind;
  const warn = (table: { readonly span: Span } | undefined, name: string, advice: string): void => {
    if (!table) return;
    const how = takes ? advice : 'the protocol takes no stream';
    list.add('stream-ignored', table.span, () => `${subject}: stream.${name} is ignored: ${how}`);
  };
  // WebSocket and gRPC without TLS still send this name as their host.
  const named =
    tls !== undefined &&
    (carrier === 'ws' || carrier === 'grpc') &&
    Object.entries(tls.value).every(([key, value]) => key === 'serverName' || value === undefined);
  if (!chosen?.tls && !named) {
    const key = carrier === undefined ? 'network = "tls"' : 'security = "tls"';
    warn(tls, 'tls', `the connection is not encrypted without ${key}`);
  }
  if (carrier !== 'ws') warn(ws, 'ws', 'network is not "ws"');
  if (carrier !== 'grpc') warn(grpc, 'grpc', 'network is not "grpc"');
}

/**
 * Remaining validity in milliseconds below which a certificate is reported: automatic renewal usually happens earlier,
 * so it has failed.
 */
const SOON_MS = 14 * DAY_MS;

/** Warns of certificates that clients reject, or soon will, and of keys that other users can read. */
function warnOfCertificates(examined: Examined, list: WarningList): void {
  const { own, spec, publicFiles, now } = examined;
  own.inbound.forEach(({ value: { tag, stream, settings } }, index) => {
    const inbound = spec.inbounds[index];
    if (!inbound) return;
    const subject = `inbound ${tag.value}`;
    const check = (certificates: string, certFile: WrittenPath, keyFile: WrittenPath): void => {
      const problem = problemWith(certificates, now);
      const place = certFile?.span ?? tag.span;
      if (problem !== undefined) list.add('certificate', place, () => `${subject}: ${problem}`);
      if (keyFile === undefined || !publicFiles.has(keyFile.value)) return;
      const { span, value } = keyFile;
      list.add(
        'key-readable',
        span,
        () =>
          `${subject}: every user of this machine can read the private key ${quotedShort(value)}: chmod o-r`,
      );
    };
    const tls = inbound.stream?.tls;
    if (tls) check(tls.certificates, stream?.tls?.value.certFile, stream?.tls?.value.keyFile);
    const own = inboundProtocol(inbound.protocol).certificates?.(inbound.settings);
    if (own === undefined || settings === undefined) return;
    check(own, placeOf(settings, 'cert_file'), placeOf(settings, 'key_file'));
  });
}

/** A path of the file and its place. */
type WrittenPath = { readonly value: string; readonly span: Span } | undefined;

function placeOf(settings: Parameters<typeof valueAt>[0], key: string): WrittenPath {
  const value = textAt(settings, key);
  const span = valueAt(settings, key)?.span;
  return value === undefined || span === undefined ? undefined : { value, span };
}

/** Returns the reason why clients reject a certificate, or when they will; `undefined` otherwise. */
function problemWith(certificates: string, now: number): string | undefined {
  const { validFrom, validTo, hasName } = leafFacts(certificates);
  if (validTo <= now) return `the certificate has expired on ${day(validTo)}: clients refuse it`;
  if (validFrom > now)
    return `the certificate is valid from ${day(validFrom)} on: clients refuse it`;
  if (!hasName) return 'the certificate has no subjectAltName, without which clients refuse it';
  return validTo - now < SOON_MS ? `the certificate expires on ${day(validTo)}` : undefined;
}

const day = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** Warns of route groups without effect, and of picks for unknown groups. */
function warnOfGroups({ own, subscribe }: Examined, list: WarningList): void {
  if (!subscribe) return;
  const names = new Set(subscribe.routeGroup.map(({ name }) => name.value));
  for (const [group, { span }] of picksOf(own)) {
    if (group === DEFAULT_GROUP || names.has(group)) continue;
    list.add('pick-without-group', span, () => {
      const meant = suggestion(group, names);
      const hint = meant === undefined ? '' : `; did you mean ${quotedShort(meant)}?`;
      return `[subscribe.routes]: the subscribe file has no route group ${quotedShort(group)}${hint}`;
    });
  }
  const inherited = new Set<string>();
  for (const group of subscribe.routeGroup) {
    const inherit = inheritOf(group);
    if (typeof inherit === 'object') inherited.add(inherit.group);
  }
  for (const { name, rule } of subscribe.routeGroup) {
    if (rule.length > 0 || inherited.has(name.value)) continue;
    list.add(
      'unused-group',
      name.span,
      () => `route group ${quotedShort(name.value)} has no rule, so nothing goes through it`,
    );
  }
}

/**
 * Warns of outbounds and balancers of the configuration file that no route uses. Nodes of a subscribe file
 * are the provider's choice; if routes can be switched at run time, every outbound may be picked.
 */
function warnOfUnused(examined: Examined, list: WarningList): void {
  const { own, merged, subscribe, canPick } = examined;
  if (canPick) return;
  const used = new Set(merged.route?.rule.map(({ outbound }) => outbound.value));
  const fallback = defaultTarget(own, subscribe);
  if (fallback) used.add(fallback.value);
  for (const { value } of picksOf(own).values()) used.add(value);
  for (const target of subscribe ? groupTargets(own, subscribe) : []) {
    if ('value' in target) used.add(target.value);
  }
  const warn = (id: 'unused-balancer' | 'unused-outbound', what: string, tag: Located<string>) =>
    list.add(
      id,
      tag.span,
      () => `${what} ${tag.value} is not used: no rule, default or pick leads to it`,
    );
  for (const { tag, outbounds } of own.balancer) {
    if (!used.has(tag.value)) warn('unused-balancer', 'balancer', tag);
    // One warning is enough for an unused balancer: its members count as used.
    for (const { value } of outbounds.value) used.add(value);
  }
  for (const { value } of own.outbound) {
    if (!used.has(value.tag.value)) warn('unused-outbound', 'outbound', value.tag);
  }
}
