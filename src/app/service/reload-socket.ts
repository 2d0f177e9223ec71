import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { messageOf, WeirError } from '../../errors.ts';
import { bindReason } from '../../transports/bind-error.ts';
import { bindUnixSocket } from '../../transports/unix-socket.ts';
import type { ReloadOutcome } from '../outcomes.ts';

/** What a client sends; the response is a `ReloadOutcome` as a line of JSON. */
export const RELOAD_REQUEST = 'reload\n';

/** How long a client may take to send it. */
const REQUEST_MS = 5_000;
/** Clients at a time. Their reloads take place one after the other. */
const MAX_CLIENTS = 16;

/**
 * A unix socket on which `weir reload` asks for a reload and learns its outcome, for programs that have to
 * know it and have no `[api]`. It is open to the user of the process, and to root.
 */
export class ReloadSocket {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /**
   * Binds and serves. A socket file that a dead process left behind is replaced.
   *
   * @param reload must not reject.
   * @throws {WeirError} with the reason in words.
   */
  static async open(path: string, reload: () => Promise<ReloadOutcome>): Promise<ReloadSocket> {
    const server = createServer((client) => serve(client, reload));
    server.maxConnections = MAX_CLIENTS;
    try {
      await bindUnixSocket(path, async () => {
        server.listen({ path });
        await once(server, 'listening');
      });
      await chmod(path, 0o600);
    } catch (error) {
      server.close();
      throw new WeirError('bind', `reload socket ${path}: ${bindReason(error)}`, { cause: error });
    }
    server.on('error', () => undefined); // an accept that fails is one client lost
    return new ReloadSocket(server);
  }

  /** Accepts no client any more; the file is removed. */
  close(): void {
    this.#server.close();
  }
}

function serve(client: Socket, reload: () => Promise<ReloadOutcome>): void {
  let request = '';
  client.on('error', () => undefined);
  client.setTimeout(REQUEST_MS, () => client.destroy());
  client.setEncoding('latin1').on('data', (text: string) => {
    request += text;
    if (!RELOAD_REQUEST.startsWith(request)) client.destroy();
    else if (request === RELOAD_REQUEST) {
      client.setTimeout(0);
      void reload().then((outcome) => client.end(`${JSON.stringify(outcome)}\n`));
    }
  });
}

/** No outcome of a reload could be had. */
export class ReloadRequestError extends WeirError {
  constructor(path: string, reason: string, options?: ErrorOptions) {
    super('reload_request', `no reload through ${path}: ${reason}`, options);
  }
}

/** More than any outcome takes. */
const MAX_RESPONSE = 1 << 20;

/**
 * Asks the process that serves `path` for a reload, and waits for its end however long it takes.
 * @throws {ReloadRequestError}
 */
export async function requestReload(client: Socket, path: string): Promise<ReloadOutcome> {
  let text = '';
  try {
    client.connect({ path });
    await once(client, 'connect');
    client.write(RELOAD_REQUEST);
    for await (const chunk of client.setEncoding('utf8')) {
      text += String(chunk);
      if (text.length > MAX_RESPONSE) break;
    }
  } catch (error) {
    throw new ReloadRequestError(path, messageOf(error), { cause: error });
  } finally {
    client.destroy();
  }
  const outcome = toOutcome(text);
  if (!outcome) throw new ReloadRequestError(path, 'the process gave no outcome');
  return outcome;
}

/** `undefined` for anything but a whole response. */
function toOutcome(text: string): ReloadOutcome | undefined {
  if (!text.endsWith('\n')) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null || !('kind' in parsed)) return undefined;
  switch (parsed.kind) {
    case 'applied':
      return 'summary' in parsed && typeof parsed.summary === 'string'
        ? { kind: 'applied', summary: parsed.summary }
        : undefined;
    case 'unchanged':
      return { kind: 'unchanged' };
    case 'failed':
      return 'line' in parsed && typeof parsed.line === 'string'
        ? { kind: 'failed', line: parsed.line }
        : undefined;
    default:
      return undefined;
  }
}
