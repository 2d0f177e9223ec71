import { recordLines } from '@weir/base/log';
import { logHints, type Importable } from '@weir/server/app/log/error-lines';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import { processLog } from '@weir/server/app/log/process-log';
import { readStreamConfig } from '@weir/server/loading';
import { ConfigError, renderConfigError } from '@weir/config';
import { ApplyError } from '@weir/server/supervisor/reload-report';

/** The input from which a configuration is loaded. */
export interface LoadInput {
  readonly files: FileDigests;
  /** Contents of the configuration, if it is not in a regular file. */
  readonly bytes: Uint8Array | undefined;
  readonly onLogLevel: (level: string) => void;
}

/**
 * Runs `work`, which loads the configuration of a command. If it is invalid, logs the error, at the level that the
 * configuration sets if that can be read, and returns `undefined`.
 *
 * @param work may throw the errors of `loadConfig`, and an ApplyError
 */
export async function loadOrReport<T>(
  configPath: string | undefined,
  work: (path: string | undefined, input: LoadInput) => Promise<T>,
  options: { readonly files?: FileDigests; readonly importable?: Importable | undefined } = {},
): Promise<T | undefined> {
  let level: string | undefined;
  const onLogLevel = (found: string): void => void (level = found);
  try {
    const { files = new FileDigests() } = options;
    const bytes = configPath === undefined ? undefined : await readStreamConfig(configPath);
    const result = await work(configPath, { files, bytes, onLogLevel });
    // A stream cannot be read again: a reload detects this as a change, and reports it.
    if (configPath !== undefined && bytes !== undefined) files.expect(configPath, bytes);
    return result;
  } catch (error) {
    const { log, flush } = processLog(level);
    log.error(recordLines(`configuration invalid: ${describe(error)}`));
    logHints(error, log, options.importable);
    await flush();
    return undefined;
  }
}

/** The text of a configuration error. @throws any other error */
function describe(error: unknown): string {
  if (error instanceof ConfigError) return renderConfigError(error);
  if (error instanceof ApplyError) return error.message;
  throw error;
}
