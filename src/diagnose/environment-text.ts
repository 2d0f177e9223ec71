import { readFile } from 'node:fs/promises';
import { printable } from '../printable.ts';

/** Variables whose values are settings without secrets and addresses. */
const SHOWN: ReadonlySet<string> = new Set([
  'RUST_LOG',
  'WEIR_LOG',
  'WEIR_LOG_ADDRESSES',
  'NO_COLOR',
]);

/** Variables that affect Weir. */
const NAMED =
  /^(?:WEIR_\w+|RUST_LOG|NODE_\w+|UV_\w+|SSL_CERT_\w+|NO_COLOR|JOURNAL_STREAM|NOTIFY_SOCKET|LISTEN_FDS)$/;

/** The settings of an environment, one per line; values that may be secret are left out. */
export function environmentText(
  env: Readonly<Record<string, string | undefined>>,
  whose: string,
): string {
  const lines = Object.keys(env)
    .filter((name) => NAMED.test(name) && env[name] !== undefined)
    .sort()
    .map((name) => `${name}=${SHOWN.has(name) ? printable(env[name] ?? '') : '(set)'}`);
  const found = lines.length === 0 ? ['no variable that Weir uses is set'] : lines;
  return `# The environment of ${whose}.\n${found.join('\n')}\n`;
}

/** The environment of another process of this user. @throws the error of the system */
export async function environmentOf(pid: number): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(`/proc/${pid}/environ`, 'utf8');
  return Object.fromEntries(
    text.split('\0').flatMap((line) => {
      const equals = line.indexOf('=');
      return equals > 0 ? [[line.slice(0, equals), line.slice(equals + 1)]] : [];
    }),
  );
}
