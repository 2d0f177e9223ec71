import { readDocuments } from '@weir/config/documents';
import type { ByteSource, GeoKind } from '@weir/proxy/geo';
import { withGeoFile } from '@weir/proxy/geo-files';
import {
  geoipMatches,
  geoipSummaries,
  geositeMatches,
  geositeSummaries,
  type GeoListSummary,
  type GeoMatch,
} from '@weir/proxy/geo-files';
import { WeirError, UsageError } from '@weir/base';
import { ipVersion, unmapIPv4, normalizeHost } from '@weir/io/addresses';
import { printableJson } from '@weir/base/printable';
import {
  commandLines,
  commandOf,
  type CommandIo,
  HELP_OPTION,
  optionLines,
  subcommandParser,
} from '../command.ts';
import { textTable, type Cell } from '@weir/base/tables';
import { loadOrReport } from '../load.ts';
import { GEO, GEO_OPTIONS } from './specs.ts';

const GEO_HELP = `weir geo, the lists of geosite and geoip files

Usage: weir geo list [options]
       weir geo lookup HOST [options]

Commands:
${commandLines(GEO.commands)}
A name is looked up in the geosite file, an address in the geoip file; nothing is resolved.

Options:
${optionLines({ ...GEO_OPTIONS, ...HELP_OPTION })}`;

const parseGeo = subcommandParser(GEO, (kind, values, [written = '']) => {
  const { config, geosite, geoip, json = false } = values;
  if (config !== undefined && (geosite ?? geoip) !== undefined) {
    throw new UsageError('--geosite and --geoip are in place of --config');
  }
  const host = kind === 'list' ? '' : normalizeHost(written);
  if (host === undefined) {
    throw new UsageError(`${JSON.stringify(written)} is neither a name nor an address`);
  }
  return {
    kind,
    config,
    geosite,
    geoip,
    /** The host in the form of flows; empty for `list`. */
    host: ipVersion(host) === 0 ? host : unmapIPv4(host),
    json,
  };
});

type GeoArguments = NonNullable<ReturnType<typeof parseGeo>>;

type GeoPaths = Readonly<Record<GeoKind, string | undefined>>;

const LIST_HEADS = ['FILE', 'CODE', 'ENTRIES', 'ATTRIBUTES'];
const LOOKUP_HEADS = ['FILE', 'CODE', 'ENTRY', 'ATTRIBUTES'];

/**
 * `weir geo`. Resolves with the exit status: 1 if a file is missing or invalid, or no list contains the host.
 * @throws {UsageError}
 */
export const geoCommand = commandOf('geo', GEO_HELP, parseGeo, async (asked, io) => {
  const paths = await pathsOf(asked);
  if (!paths) return 1;
  return asked.kind === 'list' ? list(paths, asked, io) : lookUp(paths, asked, io);
});

/** Paths of the files to read; `undefined` for an invalid configuration, which is reported. */
async function pathsOf({ config, geosite, geoip }: GeoArguments): Promise<GeoPaths | undefined> {
  if ((geosite ?? geoip) !== undefined) return { geosite, geoip };
  return loadOrReport(config, async (path, { files, bytes }) => {
    // Rules are not checked: an unknown code in one may be the reason for this command.
    const { route } = (await readDocuments({ path, bytes }, files)).file;
    const named = { geosite: route?.geosite?.value, geoip: route?.geoip?.value };
    if ((named.geosite ?? named.geoip) === undefined) {
      throw new WeirError('no_geo_file', 'the configuration names no geo file', {
        hint: 'name one with --geosite or --geoip',
      });
    }
    return named;
  });
}

async function list(paths: GeoPaths, { json }: GeoArguments, io: CommandIo): Promise<number> {
  const rows: (readonly Cell[])[] = [];
  const lines: string[] = [];
  const add = (kind: GeoKind, { code, entries, attributes }: GeoListSummary): void => {
    if (json) lines.push(`${printableJson({ file: kind, code, entries, attributes })}\n`);
    const counts = Object.entries(attributes).map(([name, count]) => `@${name} ${count}`);
    rows.push([kind, code, entries, counts.join(', ')]);
  };
  await eachOf('geosite', paths, geositeSummaries, (each) => add('geosite', each));
  await eachOf('geoip', paths, geoipSummaries, (each) => add('geoip', each));
  io.stdout.write(json ? lines.join('') : textTable(LIST_HEADS, rows));
  return 0;
}

async function lookUp(
  paths: GeoPaths,
  { host, json }: GeoArguments,
  io: CommandIo,
): Promise<number> {
  const kind: GeoKind = ipVersion(host) === 0 ? 'geosite' : 'geoip';
  if (paths[kind] === undefined) {
    const what = kind === 'geosite' ? 'a name' : 'an address';
    throw new WeirError('no_geo_file', `no ${kind} file is named, in which ${what} is looked up`);
  }
  const found: GeoMatch[] = [];
  const matches = kind === 'geosite' ? geositeMatches : geoipMatches;
  await eachOf(
    kind,
    paths,
    (source) => matches(source, host),
    (each: GeoMatch) => void found.push(each),
  );
  const text = json
    ? found.map((each) => `${printableJson({ file: kind, ...each })}\n`).join('')
    : textTable(
        LOOKUP_HEADS,
        found.map(({ code, entry, attributes }) => [
          kind,
          code,
          entry,
          attributes.map((name) => `@${name}`).join(', '),
        ]),
      );
  if (found.length > 0) io.stdout.write(text);
  else io.stderr.write(`weir geo: no list of the ${kind} file contains ${host}\n`);
  return found.length > 0 ? 0 : 1;
}

/** Calls `take` with each item of a file; does nothing without a file. */
async function eachOf<T>(
  kind: GeoKind,
  paths: GeoPaths,
  read: (source: ByteSource) => AsyncIterable<T>,
  take: (item: T) => void,
): Promise<void> {
  if (paths[kind] === undefined) return;
  await withGeoFile(kind, paths[kind], async (source) => {
    for await (const item of read(source)) take(item);
  });
}
