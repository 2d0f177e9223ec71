import { Child } from '../process/child.ts';

/** A user who is neither root nor any of those who run tests. */
export const FOREIGN_USER = 54_321;

/** Why no process of another user can be started here; `false` when one can. */
export const noForeignUser: string | false =
  process.getuid?.() === 0 ? false : 'not root: no process of another user can be started';

/** What another user of this host receives at an address. */
export interface ForeignListener extends AsyncDisposable {
  /** Everything so far. */
  readonly received: () => string;
  /** Waits for a number of connections that were accepted. */
  readonly accepted: (count: number) => Promise<void>;
}

/**
 * Listens at an address as another user, and answers every request with 200 and a JSON object.
 * @param where a port of 127.0.0.1, or the path of a unix socket in a folder that all may write to
 */
export async function foreignListener(where: number | string): Promise<ForeignListener> {
  const script = `
    process.setgid(${FOREIGN_USER});
    process.setuid(${FOREIGN_USER});
    const body = '{"version":"2.1.1"}';
    require('node:net').createServer((client) => {
      process.stdout.write('accepted\\n');
      client.on('error', () => undefined).on('data', (data) => {
        process.stdout.write('received ' + JSON.stringify(String(data)) + '\\n');
        client.write('HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: ' + body.length + '\\r\\n\\r\\n' + body);
      });
    }).listen(${typeof where === 'number' ? `${where}, '127.0.0.1'` : JSON.stringify(where)}, () => console.log('listening'));`;
  const child = new Child(process.execPath, ['-e', script]);
  await child.until('it to listen', ({ stdout }) => stdout.includes('listening') || undefined);
  return {
    received: () => child.stdout.match(/^received .*$/gm)?.join('\n') ?? '',
    accepted: async (count) => {
      await child.until(
        `${count} connections`,
        ({ stdout }) => (stdout.match(/^accepted$/gm)?.length ?? 0) >= count || undefined,
      );
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
