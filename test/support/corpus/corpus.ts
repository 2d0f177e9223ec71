import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { checkConfig } from '@weir/server/edits';
import { renderWarning } from '@weir/config/load';

/*
 * The configurations of every release: a folder for each in test/corpus, which no later release edits. Beside them,
 * `digests.json` has the SHA-256 of each file, and `warnings.json`, which may change, what the current version warns of.
 */

export const CORPUS = join(import.meta.dirname, '../../corpus');

/** The subscribe file of a release, which the configurations with `[subscribe]` are checked with. */
export const NODES = 'nodes.subscribe.toml';

/** By the path of a file from the folder of the corpus. */
export type ByFile<T> = Readonly<Record<string, T>>;

export const releases = (): string[] =>
  readdirSync(CORPUS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted();

export const filesOf = (release: string): string[] =>
  readdirSync(join(CORPUS, release))
    .toSorted()
    .map((name) => `${release}/${name}`);

export const isConfiguration = (path: string): boolean => !path.endsWith(NODES);

export const digestOf = (path: string): string =>
  createHash('sha256')
    .update(readFileSync(join(CORPUS, path)))
    .digest('hex');

export const readTable = <T>(name: 'digests.json' | 'warnings.json'): ByFile<T> =>
  JSON.parse(readFileSync(join(CORPUS, name), 'utf8')) as ByFile<T>;

/** Names of files that configurations have, whatever their folder: of lists, certificates and keys. */
const NAMED = /"(?:[^"\n]*[/.])?(geoip\.dat|geosite\.dat|cert\.pem|key\.pem)"/g;

/**
 * Loads and builds a configuration as `--test` does.
 *
 * @param folder with the lists, the certificate and the key that configurations name
 * @returns what it warns of
 * @throws when it is rejected
 */
export async function warningsOf(path: string, folder: string): Promise<string[]> {
  const [release = ''] = path.split('/');
  const text = readFileSync(join(CORPUS, path), 'utf8')
    .replaceAll(NAMED, (_, name: string) => JSON.stringify(join(folder, name)))
    .replace(/(\[subscribe\]\n(?:.*\n)*?path = )"[^"]+"/, `$1"${join(CORPUS, release, NODES)}"`);
  const file = join(folder, basename(path));
  // For its owner alone, as such files are to be.
  writeFileSync(file, text, { mode: 0o600 });
  const { warnings } = await checkConfig(file);
  return warnings.map((warning) =>
    renderWarning(warning).replaceAll(`${folder}/`, '').replaceAll(`${CORPUS}/`, ''),
  );
}
