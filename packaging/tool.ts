import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const start = promisify(execFile);

/**
 * Options of Node under which V8 compiles the same source to the same bytes. Without them strings in a code cache carry
 * hashes of a random seed. A cache that is made under them is accepted without them.
 */
export const REPEATABLE: readonly string[] = ['--predictable', '--random-seed=1'];

/**
 * Runs a program to its end; resolves with what it wrote to standard output.
 * @throws {Error} with its output when it fails.
 */
export async function runTool(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  try {
    const { stdout } = await start(program, args, { ...options, maxBuffer: 16 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

/** Whether the PATH has a program. */
export const hasTool = async (program: string): Promise<boolean> =>
  (await findTool(program)) !== undefined;

/** The path of a program in the PATH. */
export async function findTool(program: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, program);
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}
