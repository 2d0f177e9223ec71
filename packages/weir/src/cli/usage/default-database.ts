import { homedir } from 'node:os';
import { join } from 'node:path';
import type { CommandIo } from '../command.ts';

const SERVICE_DATABASE = '/var/lib/weir/usage.db';

/** The database that the service writes, or that of the user. */
export function defaultDatabase(env: CommandIo['env']): string {
  if (process.getuid?.() === 0) return SERVICE_DATABASE;
  const state = env['XDG_STATE_HOME'];
  const folder = state?.startsWith('/') === true ? state : join(homedir(), '.local', 'state');
  return join(folder, 'weir', 'usage.db');
}
