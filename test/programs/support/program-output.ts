import { Child } from '../../support/process/child.ts';
import { within } from '../../support/wait.ts';

/**
 * Runs a program to its end and returns its standard output.
 *
 * @param accepts whether an exit status is a success; by default 0 alone.
 * @throws for another status.
 */
export async function outputOf(
  command: string,
  args: readonly string[],
  patienceMs: number,
  accepts = (status: number): boolean => status === 0,
): Promise<string> {
  await using child = new Child(command, [...args]);
  const { code } = await within(child.exited, () => `the end of ${child.name}`, patienceMs);
  if (code !== null && accepts(code)) return child.stdout;
  throw new Error(`${child.name} ended with ${code}:\n${child.stdout}${child.stderr}`);
}
