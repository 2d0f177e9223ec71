import { Child, type ChildOptions, type Exit } from '../support/process/child.ts';
import { within } from '../support/wait.ts';

/** An installed Weir. */
export interface Installed {
  readonly command: string;
  /** All variables that it sees. */
  readonly env: Readonly<Record<string, string>>;
  /** What runs the command in its place, as with `chroot`. */
  readonly prefix?: readonly string[];
  /** An empty folder, as it sees it. */
  readonly folder: string;
  /** The same folder, as this process sees it. */
  readonly seenFolder?: string;
}

/** A child with no variables but those of `env`. */
export function start(
  installed: Installed,
  args: readonly string[],
  options: Pick<ChildOptions, 'descriptors'> = {},
): Child {
  const cleared = Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]));
  const { command, env, prefix = [] } = installed;
  return new Child(command, args, { ...options, env: { ...cleared, ...env }, prefix });
}

/** Runs a command to its end, for which it has some milliseconds. */
export async function finish(
  installed: Installed,
  args: readonly string[],
  patience = 60_000,
): Promise<Exit & { readonly stdout: string; readonly stderr: string }> {
  await using child = start(installed, args);
  const exit = await within(child.exited, `the end of ${child.name}`, patience);
  return { ...exit, stdout: child.stdout, stderr: child.stderr };
}
