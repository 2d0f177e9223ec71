import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Weir, type LogLine, type StartOptions } from '../../../packages/weir/src/index.ts';
import { scratch } from '../process/weir.ts';

/** A proxy inside this process, whose configuration can be replaced. */
export interface HostedWeir extends AsyncDisposable {
  readonly weir: Weir;
  readonly lines: readonly LogLine[];
  /** Writes another configuration and reloads. */
  change(config: string): Promise<void>;
}

/** Starts a proxy inside this process with the text of a configuration; its log is kept from `debug` up. */
export async function startLibrary(
  config: string,
  options: Omit<StartOptions, 'config' | 'onLog'> = {},
): Promise<HostedWeir> {
  const folder = await scratch();
  const path = join(folder.path, 'weir.toml');
  const lines: LogLine[] = [];
  await writeFile(path, config);
  const weir = await Weir.start({
    logLevel: 'debug',
    ...options,
    config: path,
    onLog: (line) => void lines.push(line),
  });
  return {
    weir,
    lines,
    async change(next) {
      await writeFile(path, next);
      await weir.reload();
    },
    async [Symbol.asyncDispose]() {
      await weir.stop({ graceMs: 0 });
      await folder[Symbol.asyncDispose]();
    },
  };
}
