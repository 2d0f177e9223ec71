import { dirname, join, resolve } from 'node:path';
import { ConfigError } from '@weir/config';
import { loadConfig } from '@weir/config/load';
import type { FileReader } from '@weir/config/documents';
import { RegexCache } from '@weir/proxy/names';
import { FileDigests } from './file-digests.ts';
import { loadConfigFile } from './inline-runner.ts';

/** The error message of a configuration's checks, without its API; `undefined` if it is valid. */
export const configProblem = (text: string): Promise<string | undefined> =>
  problemOf(() => loadConfigFile('imported', { bytes: Buffer.from(text), serveApi: false }));

/**
 * The error message of a configuration's checks together with its subscribe file, neither of which need exist;
 * `undefined` if both are valid.
 * @param nodes name of the subscribe file, in the directory of the configuration
 */
export function pairProblem(
  config: { readonly path: string; readonly text: string },
  nodes: { readonly name: string; readonly text: string },
): Promise<string | undefined> {
  const nodesPath = join(dirname(config.path), nodes.name);
  const bytes = Buffer.from(nodes.text);
  const disk = new FileDigests();
  const isNodes = (path: string): boolean => resolve(path) === resolve(nodesPath);
  const files: FileReader = {
    read: async (path) => (isNodes(path) ? bytes : disk.read(path)),
    sha256: (path) => disk.sha256(path),
    isPublic: async (path) => !isNodes(path) && disk.isPublic(path),
  };
  return problemOf(() =>
    loadConfig({ path: config.path, bytes: Buffer.from(config.text) }, files, {
      regexes: new RegexCache(),
      serveApi: true,
    }),
  );
}

async function problemOf(load: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await load();
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n').at(-1)?.trim();
    throw error;
  }
}
