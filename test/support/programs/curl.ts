import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { pattern, receiveBody, type Body } from '../data/pattern.ts';

export interface Fetched {
  /** curl's exit status; 0 is success. */
  readonly code: number | null;
  readonly body: Body;
  /** The start of the body as text. */
  readonly text: string;
  readonly stderr: string;
}

const KEPT_TEXT = 64 << 10;

/** Runs curl with `-sS` and digests its output; `upload` bytes of the pattern go to its input. */
export async function curl(args: readonly string[], upload?: number): Promise<Fetched> {
  const child = spawn('curl', ['-sS', '--max-time', '300', ...args], {
    env: withoutProxies(),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close') as Promise<[number | null]>;
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (stderr += text));
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    if (text.length < KEPT_TEXT) text += chunk.toString('latin1');
  });
  const body = receiveBody(child.stdout);
  // curl may exit before it has read all of its input; its exit code reports the failure.
  const fed = pipeline(pattern(upload ?? 0), child.stdin).catch(() => undefined);
  const [[code]] = await Promise.all([exited, fed]);
  return { code, body: await body, text, stderr };
}

/** A proxy of the machine this runs on must not come between. */
function withoutProxies(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => !/_proxy$/i.test(name));
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}
