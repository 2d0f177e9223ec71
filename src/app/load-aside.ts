import type { LoadedConfig } from '../config/load-config.ts';
import { loadConfigFile, type LoadOptions } from './config-source.ts';
import { attachConfig, type LoadOutcome } from './detached-config.ts';
import { FileLog, TooMuchToReadError } from './file-log.ts';
import { SMALL, type ConfigThread } from './thread.ts';

/**
 * Loads while traffic goes on: small files at once, large ones in the thread, which also builds
 * the tables of the routes. The same errors as of `loadConfigFile` come out of both.
 *
 * @param signal gives up waiting for the thread
 */
export async function loadAside(
  path: string | undefined,
  options: LoadOptions & {
    readonly files: FileLog;
    readonly thread: ConfigThread;
    readonly signal: AbortSignal;
  },
): Promise<LoadedConfig> {
  const { files, bytes, serveApi = true, thread, signal } = options;
  if ((bytes?.length ?? 0) <= SMALL) {
    const read = new FileLog(SMALL);
    try {
      return await loadConfigFile(path, { ...options, files: read });
    } catch (error) {
      if (!(error instanceof TooMuchToReadError)) throw error;
    } finally {
      files.adopt(read.seen);
    }
  }
  const answer = await thread.run({ kind: 'load', path, bytes, serveApi }, signal);
  const outcome = answer as LoadOutcome; // as the task answers
  files.adopt(outcome.files);
  return attachConfig(outcome.result);
}
