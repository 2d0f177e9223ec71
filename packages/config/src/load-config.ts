import { type GeoData, GeoCodeError, GeoFileError, type GeoKind } from '@weir/proxy/geo';
import { type RegexCache, RegexError } from '@weir/proxy/names';
import { loadProtocols } from '@weir/proxy/protocols';
import type { Spec, BalancerSpec, RouteGroupSpec, RouteSpec, RuleSpec } from '@weir/proxy/spec';
import { type AccountNames, readAccountNames } from './account-names.ts';
import { type ApiOptions, lowerApi, type ApiTable } from './api.ts';
import {
  readDocuments,
  type ConfigSource,
  type Documents,
  withShownKeys,
} from './sources/documents.ts';
import { ConfigError, DocumentReadError } from './errors.ts';
import { type FileReader, InputFiles, type NamedFiles, within } from './sources/input-files.ts';
import { readApiTable } from './sources/read-tables.ts';
import type { ConfigFile, SubscribeFile } from './sources/config-file.ts';
import type { Picks } from './picks.ts';
import { type MergedConfig, mergeSubscribe, type MergedGroup } from './merge.ts';
import type { Places } from './sources/source-text.ts';
import type { Examined, Warning } from './warnings/warning.ts';
import { printable } from '@weir/base/printable';
import { warningsOf } from './warnings/warnings.ts';
import type { Located, TableNode } from '@weir/proxy/schema';
import { builtinOutbounds } from './route-targets.ts';
import { Finding, Findings, namesakeAt } from './findings.ts';
import { lowerBalancers } from './tables/balancer.ts';
import { lowerDnsTable } from './tables/dns.ts';
import { lowerInbound } from './tables/inbound.ts';
import { lowerLog } from './tables/log.ts';
import { lowerOutbound } from './tables/outbound.ts';
import { outboundHint } from './word-hints.ts';
import { filesOfStream } from './tables/stream.ts';
import { lowerGeoFile, lowerRules, routeReferences, type Reference } from './tables/route.ts';
import { codeOf } from '@weir/base';
import { listEntries, ruleSubject } from './tables/rule.ts';
import { parseGeoipRef, parseGeositeRef } from './values.ts';

/** A configuration that has passed every check that requires no building. */
export interface LoadedConfig {
  readonly spec: Spec;
  /** The lists that rules of `spec` name. */
  readonly geo: GeoData;
  readonly accountNames: AccountNames;
  /** The options of `[api]`; `undefined` without that table, or when the API is not served. */
  readonly api: ApiOptions | undefined;
  /** Whether there is an `[api]` that was ignored. */
  readonly apiIgnored: boolean;
  /** The picks of the source that are in force. */
  readonly picks: Picks;
  /** Valid settings that are almost certainly mistakes. */
  readonly warnings: readonly Warning[];
  /** The tables that `spec` was made of, and their places. */
  readonly merged: MergedConfig;
  readonly places: Places;
  /** The input of the search for warnings, of which `warnings` has only the first. */
  readonly examined: Examined;
}

/** Called while a configuration is loaded. */
export interface LoadHooks {
  /** Called with `[log].level` once it is read, even if the configuration is invalid. */
  readonly onLogLevel?: ((level: string) => void) | undefined;
}

interface LoadConfigOptions extends LoadHooks {
  /** The cache of compiled patterns, kept across reloads if there are any. */
  readonly regexes: RegexCache;
  /** Whether the API is served; if not, `[api]` is not validated. */
  readonly serveApi: boolean;
  /** The time for the validity of certificates, in Unix milliseconds; the current time by default. */
  readonly now?: number | undefined;
}

/**
 * Reads a configuration and all files that it names, and lowers it.
 *
 * @throws {ConfigError} of kind `io` when a file cannot be read, `invalid` for an error in one.
 */
export async function loadConfig(
  config: ConfigSource,
  files: FileReader,
  { regexes, serveApi, now = Date.now(), onLogLevel }: LoadConfigOptions,
): Promise<LoadedConfig> {
  const documents = await documentsOf(config, files, onLogLevel);
  const { source, file, subscribe, places, picks } = documents;
  const { api: written } = file;
  const api =
    serveApi && written ? await withShownKeys(() => readApiTable(written, source)) : undefined;
  await loadProtocols(protocolsIn(file, subscribe));
  const { directory } = config;
  const named = filesNamedIn(file, subscribe);
  const input = await InputFiles.read(named, within(directory, files), directory);
  const lowered = lowerConfig({ file, subscribe, api, places, files: input, regexes });
  const { spec, file: merged } = lowered;
  const geo = await loadGeo({ route: spec.route, file: merged, places, regexes });
  const examined: Examined = {
    own: file,
    subscribe,
    merged,
    spec,
    geo,
    api: lowered.api,
    apiTable: api,
    canPick: !serveApi || file.api !== undefined,
    places,
    npmHeader: source.npmHeader,
    publicFiles: input.public,
    now,
  };
  return {
    spec,
    geo,
    accountNames: await readAccountNames(source, spec.inbounds),
    api: lowered.api,
    apiIgnored: !serveApi && file.api !== undefined,
    picks,
    warnings: warningsOf(examined),
    merged: lowered,
    places,
    examined,
  };
}

/** Returns the paths of the PEM files that tables name, and of the geo files that rules use. */
function filesNamedIn(file: ConfigFile, subscribe: SubscribeFile | undefined): NamedFiles {
  const { dns, inbound, outbound, route } = file;
  const rules = [
    ...(route?.rule ?? []),
    ...(subscribe?.routeGroup ?? []).flatMap((group) => group.rule),
  ];
  const geo = (['geoip', 'geosite'] as const).map((kind) =>
    rules.some((rule) => listEntries(rule[kind]).length > 0) ? route?.[kind] : undefined,
  );
  const pem = [
    dns?.value.caFile,
    ...inbound.flatMap(({ value: { stream, settings } }) => [
      ...filesOfStream(stream, ['certFile', 'keyFile']),
      ...filesOfSettings(settings),
    ]),
    ...[...outbound, ...(subscribe?.proxyServer ?? [])].flatMap(
      ({ value: { stream, settings } }) => [
        ...filesOfStream(stream, ['caFile']),
        ...filesOfSettings(settings),
      ],
    ),
  ];
  const paths = (keys: readonly (Located<string> | undefined)[]): ReadonlySet<string> =>
    new Set(keys.flatMap((key) => (key === undefined ? [] : [key.value])));
  return { contents: paths(pem), digests: paths(geo) };
}

/** Returns the files that settings name: keys of all protocols that do end in `_file`. */
const filesOfSettings = (settings: TableNode | undefined): readonly Located<string>[] =>
  [...(settings?.entries ?? [])].flatMap(([key, { value }]) =>
    key.endsWith('_file') && value.kind === 'string' ? [value] : [],
  );

/** Returns the names of protocols as written. */
const protocolsIn = (
  { inbound, outbound }: ConfigFile,
  subscribe: SubscribeFile | undefined,
): Set<string> =>
  new Set(
    [...inbound, ...outbound, ...(subscribe?.proxyServer ?? [])].map(
      ({ value: { protocol } }) => protocol.value,
    ),
  );

async function documentsOf(
  config: ConfigSource,
  files: FileReader,
  onLogLevel: LoadHooks['onLogLevel'],
): Promise<Documents> {
  try {
    return await readDocuments(config, files, onLogLevel);
  } catch (error) {
    if (!(error instanceof DocumentReadError)) throw error;
    const { kind, message, location, subject } = error;
    const name = config.path ?? 'the configuration';
    const prefixed = printable(`cannot read ${name}: ${message}`);
    throw new ConfigError(kind, prefixed, { location, subject, cause: error });
  }
}

/** The input of `lowerConfig`. */
export interface Lowering {
  readonly file: ConfigFile;
  /** The file that `[subscribe]` names; `undefined` without that table. */
  readonly subscribe: SubscribeFile | undefined;
  /** The table `[api]`, if this program serves the API. */
  readonly api: ApiTable | undefined;
  readonly places: Places;
  /** The files that the configuration names. */
  readonly files: InputFiles;
  readonly regexes: RegexCache;
}

/** The result of `lowerConfig`: a Spec, and the merged tables that it was lowered from. */
interface Lowered {
  readonly spec: Spec;
  readonly api: ApiOptions | undefined;
  readonly file: ConfigFile;
  readonly groups: readonly MergedGroup[];
}

/**
 * Lowers a file, together with its subscribe file if it has one.
 *
 * Every table is checked even after an error, so that the first error in document order is
 * reported.
 *
 * @throws {ConfigError}
 */
export function lowerConfig(task: Lowering): Lowered {
  const { places, files, regexes } = task;
  const findings = new Findings();
  const { api: apiTable } = task;
  const api = apiTable && findings.about('api').attempt(() => lowerApi(apiTable));
  const { file, groups } = mergeSubscribe(task.file, task.subscribe, findings);

  const dns = lowerDnsTable(file.dns, files, findings);
  refuseDuplicates(file.inbound, 'inbound', () => 'duplicate inbound tag', findings);
  refuseDuplicates(file.outbound, 'outbound', (tag) => `duplicate outbound tag: ${tag}`, findings);
  const inbounds = file.inbound.map((inbound) => lowerInbound(inbound, files, findings));
  const written = file.outbound.map((outbound) => lowerOutbound(outbound, files, findings));
  // Before the rules, so that a missing file is reported instead of an invalid code.
  const geoip = lowerGeoFile(file.route, 'geoip', files, findings);
  const geosite = lowerGeoFile(file.route, 'geosite', files, findings);
  const rules = lowerRules(file.route, regexes, findings);

  const references = [...groups.map(referenceOf), ...routeReferences(file.route)];
  const carried = new Set([
    ...file.outbound.map(({ value }) => value.tag.value),
    ...file.balancer.map(({ tag }) => tag.value),
  ]);
  const builtins = builtinOutbounds(new Set(references.map(({ tag }) => tag.value)), carried);
  for (const { tag } of builtins) carried.add(tag);
  let balancers: BalancerSpec[] = [];
  // A built-in outbound is the default route only if named. Without any outbound every
  // reference is unknown, which would hide the actual error.
  const hasDefault = file.outbound.length > 0 || file.route?.default !== undefined;
  if (hasDefault && file.outbound.length + builtins.length > 0) {
    balancers = lowerBalancers(file.balancer, file.outbound, findings);
    refuseUnknown(references, carried, findings);
  } else {
    findings
      .about('outbound')
      .add(new Finding('config defines no outbounds', undefined, { hint: NO_OUTBOUNDS }));
  }

  const error = findings.toError(places);
  if (error) throw error;
  const outbounds = [...written.filter((outbound) => outbound !== undefined), ...builtins];
  const [first] = outbounds;
  if (!first || !dns) throw new RangeError('a configuration without findings is complete');
  const spec: Spec = {
    log: lowerLog(file.log),
    dns,
    inbounds: inbounds.filter((inbound) => inbound !== undefined),
    outbounds,
    balancers,
    route: {
      default: file.route?.default?.value ?? first.tag,
      rules,
      geoip,
      geosite,
      ...(task.subscribe && { groups: lowerGroups(groups, rules.length) }),
    },
  };
  return { spec, api, file, groups };
}

const referenceOf = ({ subject, outbound }: MergedGroup): Reference => ({ subject, tag: outbound });

/**
 * Lowers route groups.
 *
 * @param all total number of rules; those of the groups are the last
 */
function lowerGroups(groups: readonly MergedGroup[], all: number): readonly RouteGroupSpec[] {
  let firstRule = groups.reduce((left, { rules }) => left - rules, all);
  return groups.map(({ name, outbound, rules }) => {
    const group = { name, outbound: outbound.value, firstRule, rules };
    firstRule += rules;
    return group;
  });
}

const NO_OUTBOUNDS =
  'write at least the direct way out: [[outbound]], and on the lines below it tag = "direct" and protocol = "freedom"';

interface Tagged {
  readonly value: { readonly tag: Located<string> };
}

function refuseDuplicates(
  tables: readonly Tagged[],
  kind: string,
  message: (tag: string) => string,
  findings: Findings,
): void {
  const seen = new Map<string, Located<string>>();
  for (const { value } of tables) {
    const { tag } = value;
    const first = seen.get(tag.value);
    if (first === undefined) {
      seen.set(tag.value, tag);
      continue;
    }
    const finding = new Finding(message(tag.value), tag.span, {
      other: namesakeAt('first', tag.value, first.span),
    });
    findings.about(`${kind} ${tag.value}`).add(finding);
  }
}

function refuseUnknown(
  references: readonly Reference[],
  known: ReadonlySet<string>,
  findings: Findings,
): void {
  for (const { tag, subject } of references) {
    if (known.has(tag.value)) continue;
    const message = `route references unknown outbound tag: ${tag.value}`;
    const hint = (): string | undefined => outboundHint(tag.value, known);
    findings.about(subject).add(new Finding(message, tag.span, { hint }));
  }
}

/** The routes whose lists are loaded. */
interface GeoLoad {
  readonly route: RouteSpec;
  /** The tables that `route` was lowered from, for the places of errors. */
  readonly file: ConfigFile;
  readonly places: Places;
  readonly regexes: RegexCache;
}

/**
 * Reads the lists that rules use from the geo files. Their digests are computed before: a file
 * that is replaced in between does not match its digest, and the next reload detects the change.
 *
 * @throws {ConfigError} for an invalid file, an unknown code, and a pattern in a list that the
 *   router could not use; located at the path of the file or at the matcher.
 */
async function loadGeo(task: GeoLoad): Promise<GeoData> {
  const findings = new Findings();
  const geoip = await loadKind('geoip', task, findings);
  const geosite = await loadKind('geosite', task, findings);
  if (geosite) checkPatterns(geosite, task, findings);
  const error = findings.toError(task.places);
  if (error) throw error;
  if (!geoip || !geosite) throw new RangeError('geo data without findings is complete');
  return { geoip: geoip.geoip, geosite: geosite.geosite };
}

/** Reads one file, so that each file can have its own finding. */
async function loadKind(
  kind: GeoKind,
  { route, file }: GeoLoad,
  findings: Findings,
): Promise<GeoData | undefined> {
  const none = { geoip: [], geosite: [] };
  const rules = route.rules
    .filter((rule) => rule[kind].length > 0)
    .map((rule): RuleSpec => ({ ...rule, ...none, [kind]: rule[kind] }));
  if (rules.length === 0) return { geoip: new Map(), geosite: new Map() };
  try {
    const { loadGeoData } = await import('@weir/proxy/geo-files');
    return await loadGeoData({ geoip: route.geoip?.path, geosite: route.geosite?.path }, rules);
  } catch (error) {
    if (error instanceof GeoCodeError) {
      const { message } = error;
      const use = useOf(kind, file, ({ code }) => new GeoCodeError(kind, code).message === message);
      const finding = new Finding(message, use?.written.span, { cause: error, severalLines: true });
      findings.about(use?.subject ?? 'route').add(finding);
    } else if (error instanceof GeoFileError) {
      const span = file.route?.[kind]?.span;
      const options = { cause: error, kind: errorKind(error) };
      findings.about('route').add(new Finding(error.message, span, options));
    } else throw error;
    return undefined;
  }
}

/** A system error such as `EIO` or `ENOENT`; Node's own errors are `ERR_…`. */
const SYSTEM_ERROR = /^E[A-Z0-9]+$/;

/**
 * Returns the kind of an error: a file that has disappeared since its digest was computed is an I/O error, not invalid.
 */
const errorKind = ({ cause }: GeoFileError): 'io' | 'invalid' =>
  SYSTEM_ERROR.test(codeOf(cause) ?? '') ? 'io' : 'invalid';

/** Compiles the patterns of all lists together, to report an invalid one at its rule. */
function checkPatterns(
  { geosite: lists }: GeoData,
  { route, file, regexes }: GeoLoad,
  findings: Findings,
): void {
  const patterns = new Set([...lists.values()].flatMap(({ regex }) => regex));
  try {
    regexes.compile([...patterns]);
  } catch (error) {
    if (!(error instanceof RegexError)) throw error;
    const { pattern } = error;
    const [key = ''] = [...lists].find(([, { regex }]) => regex.includes(pattern)) ?? [];
    const { code: wrong } = parseGeositeRef(key);
    const use = useOf('geosite', file, ({ code }) => code.toLowerCase() === wrong);
    const list = `${route.geosite?.path}: geosite ${wrong}`;
    const message = `${printable(`${list}: invalid domain regex ${pattern}`)}: ${error.message}`;
    const finding = new Finding(message, use?.written.span, { cause: error });
    findings.about(use?.subject ?? 'route').add(finding);
  }
}

/** A place in the document that names a list. */
interface Use {
  readonly code: string;
  readonly written: Located<string>;
  readonly subject: string;
}

/** Returns the first use of a list of that kind that satisfies `wanted`. */
function useOf(kind: GeoKind, file: ConfigFile, wanted: (use: Use) => boolean): Use | undefined {
  const parse = kind === 'geoip' ? parseGeoipRef : parseGeositeRef;
  const rules = file.route?.rule ?? [];
  return rules
    .flatMap((rule, index) =>
      listEntries(rule[kind]).map((written) => {
        const { code } = parse(written.value);
        return { code, written, subject: ruleSubject(index) };
      }),
    )
    .find(wanted);
}
