import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import type { Duplex } from 'node:stream';
import { asError } from '../../errors.ts';
import type { Clock } from '../../net/time/clock.ts';
import { abortedDial, ProtocolError } from '../../net/errors.ts';
import { ConnectionLostError } from './exchange.ts';
import {
  readResponse,
  requestHeaders,
  type DohResponse,
  type DohTarget,
  type HttpConnection,
} from './http-connection.ts';
import { Liveness } from './liveness.ts';
import { connectTls, type TlsTarget } from './tls-connect.ts';
import { unlessAborted } from '../../net/time/unless-aborted.ts';

/** Concurrent questions, each on a socket of its own; further ones wait for a free socket. */
const MAX_SOCKETS = 6;

/** DNS over HTTP/1.1, for servers without HTTP/2. */
export class Http1Connection implements HttpConnection {
  readonly #agent: Agent;
  readonly #target: DohTarget;
  readonly #liveness: Liveness;
  readonly #onEnd: () => void;
  #ended = false;
  #cause: unknown;

  /** `onEnd` is called once, when the connection takes no more questions. */
  constructor(tls: TlsTarget, target: DohTarget, clock: Clock, onEnd: () => void) {
    this.#agent = new TlsAgent(tls);
    this.#target = target;
    this.#onEnd = onEnd;
    this.#liveness = new Liveness(clock, (cause) => this.end(cause));
  }

  async post(message: Buffer, signal: AbortSignal): Promise<DohResponse> {
    if (this.#ended) throw new ConnectionLostError();
    const abandoned = new AbortController();
    this.#liveness.asked();
    try {
      return await unlessAborted(this.#exchange(message, abandoned.signal), signal, abortedDial);
    } catch (error) {
      // A response that is not read would occupy its socket.
      abandoned.abort();
      throw error;
    } finally {
      this.#liveness.settled();
    }
  }

  end(cause?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cause = cause;
    this.#liveness.stop();
    this.#agent.destroy();
    this.#onEnd();
  }

  async #exchange(message: Buffer, abandoned: AbortSignal): Promise<DohResponse> {
    try {
      const response = await this.#request(message, abandoned);
      this.#liveness.heard();
      return await readResponse(response.statusCode ?? 0, response.headers, response);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      // Other kept sockets are likely as dead as this one.
      if (!abandoned.aborted) this.end(error);
      throw new ConnectionLostError(this.#cause ?? error);
    }
  }

  #request(message: Buffer, abandoned: AbortSignal): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const { host, path } = this.#target;
    const outgoing = request({
      agent: this.#agent,
      method: 'POST',
      path,
      headers: { ...requestHeaders(message), host },
      signal: abandoned,
    });
    outgoing.on('response', resolve);
    outgoing.on('error', reject);
    outgoing.end(message);
    return promise;
  }
}

/** Connects as `connectTls` does, and keeps connections for further questions. */
class TlsAgent extends Agent {
  readonly #target: TlsTarget;
  readonly #closing = new AbortController();

  constructor(target: TlsTarget) {
    super({ keepAlive: true, maxSockets: MAX_SOCKETS, maxFreeSockets: 2 });
    this.#target = target;
  }

  override createConnection(
    _options: unknown,
    done: (error: Error | null, socket?: Duplex) => void,
  ): undefined {
    connectTls(this.#target, this.#closing.signal).then(
      (socket) => done(null, socket),
      (error: unknown) => done(asError(error)),
    );
  }

  override destroy(): void {
    this.#closing.abort();
    super.destroy();
  }
}
