import { printable } from '@weir/base/printable';
import { GeoCodeError, type GeoData, GeoFileError, type GeoKind } from '@weir/proxy/geo';
import { type RegexCache, RegexError } from '@weir/proxy/names';
import { codeOf } from '@weir/base';
import type { Located } from '@weir/proxy/schema';
import type { RouteSpec, RuleSpec } from '@weir/proxy/spec';
import type { ConfigFile } from './config-file.ts';
import { Finding, Findings } from '../findings.ts';
import type { Places } from '../places.ts';
import { listEntries, ruleSubject } from '../tables/rule.ts';
import { parseGeoipRef, parseGeositeRef } from '../values.ts';

/** The routes whose lists are loaded. */
export interface GeoLoad {
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
export async function loadGeo(task: GeoLoad): Promise<GeoData> {
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
