import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { subscribeCommand } from '../../../packages/weir/src/cli/nodes/subscribe.ts';

/** What a command has printed, and its exit status. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `weir subscribe` in this process. */
export async function subscribe(...argv: readonly string[]): Promise<Ran> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const code = await subscribeCommand(argv, { stdout, stderr, env: {} });
  stdout.end();
  stderr.end();
  return { code, out: await text(stdout), err: await text(stderr) };
}
