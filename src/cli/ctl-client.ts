import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { WeirError, codeOf, messageOf } from '../errors.ts';
import { UsageError } from './arguments.ts';
import { EventReader } from './event-reader.ts';

/** The API could not be asked, or said no; the message is its own text where it gave one. */
export class CtlError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('ctl', message, options);
  }
}

/** Where the API is. */
export type ApiPlace =
  | { readonly kind: 'url'; readonly url: URL }
  | { readonly kind: 'unix'; readonly path: string };

const DEFAULT_PLACE = '127.0.0.1:9090';
/** How long the API may be silent before it answers; a reload can take its time. */
const SILENCE_MS = 60_000;

/**
 * Reads `--api`: a URL, or what `[api] listen` takes.
 * @throws {UsageError}
 */
export function parsePlace(text = DEFAULT_PLACE): ApiPlace {
  if (/^https?:\/\//i.test(text)) return { kind: 'url', url: parseUrl(text, text) };
  if (text.startsWith('unix:')) return { kind: 'unix', path: text.slice('unix:'.length) };
  if (text.includes('/')) return { kind: 'unix', path: text };
  return { kind: 'url', url: parseUrl(`http://${text}`, text) };
}

function parseUrl(url: string, text: string): URL {
  const parsed = URL.parse(url);
  if (!parsed) throw new UsageError(`--api ${JSON.stringify(text)} is no address`);
  return parsed;
}

export interface Asked {
  readonly body?: unknown;
  readonly ifMatch?: string | undefined;
}

/** Asks the API; every failure is a CtlError. */
export class CtlClient {
  readonly #place: ApiPlace;
  readonly #secret: string | undefined;

  constructor(place: ApiPlace, secret: string | undefined) {
    this.#place = place;
    this.#secret = secret;
  }

  /** The JSON of a successful answer; `undefined` when it has no body. */
  async ask(method: string, path: string, asked: Asked = {}): Promise<unknown> {
    const answer = await this.#open(method, path, asked);
    const text = await textOf(answer);
    return text === '' ? undefined : this.#parse(text);
  }

  /** The events of a stream, one after the other. */
  async *events(path: string): AsyncGenerator<{ readonly event: string; readonly data: unknown }> {
    const answer = await this.#open('GET', path, {});
    answer.setEncoding('utf8');
    const reader = new EventReader();
    try {
      for await (const chunk of answer as AsyncIterable<string>) {
        for (const { event, data } of reader.push(chunk)) yield { event, data: this.#parse(data) };
      }
    } catch (error) {
      throw new CtlError(`the API ended the stream: ${messageOf(error)}`, { cause: error });
    }
  }

  async #open(method: string, path: string, asked: Asked): Promise<IncomingMessage> {
    const answer = await this.#send(method, path, asked);
    const { statusCode = 0 } = answer;
    if (statusCode >= 200 && statusCode < 300) return answer;
    throw new CtlError(
      errorText(await textOf(answer)) ?? `${method} ${path}: status ${statusCode}`,
    );
  }

  async #send(method: string, path: string, { body, ifMatch }: Asked): Promise<IncomingMessage> {
    const headers: Record<string, string> = {};
    if (this.#place.kind === 'unix') headers['Host'] = 'localhost';
    if (this.#secret !== undefined) headers['Authorization'] = `Bearer ${this.#secret}`;
    if (ifMatch !== undefined) headers['If-Match'] = ifMatch;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    try {
      const request = this.#request({ method, headers, timeout: SILENCE_MS }, path);
      request
        .once('response', (answer) => {
          request.setTimeout(0);
          resolve(answer);
        })
        .once('timeout', () => request.destroy(new Error('no answer')))
        .on('error', reject)
        .end(body === undefined ? undefined : JSON.stringify(body));
      return await promise;
    } catch (error) {
      throw new CtlError(`cannot reach the API on ${this.#where()}: ${reasonOf(error)}`, {
        cause: error,
      });
    }
  }

  #request(options: RequestOptions, path: string) {
    if (this.#place.kind === 'unix') {
      return httpRequest({ ...options, socketPath: this.#place.path, path });
    }
    const { url } = this.#place;
    // A path in front of the API's own is that of a reverse proxy.
    const target = new URL(url.pathname.replace(/\/$/, '') + path, url);
    return (url.protocol === 'https:' ? httpsRequest : httpRequest)(target, options);
  }

  #where(): string {
    return this.#place.kind === 'unix' ? this.#place.path : this.#place.url.host;
  }

  #parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new CtlError(`what answers on ${this.#where()} is not the API`, { cause: error });
    }
  }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch (error) {
    throw new CtlError(`the API broke off its answer: ${messageOf(error)}`, { cause: error });
  }
  return Buffer.concat(chunks).toString();
}

/** What the API says is wrong: JSON with `error`, or plain text. */
function errorText(body: string): string | undefined {
  if (body === '') return undefined;
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value && 'error' in value) return String(value.error);
  } catch {
    return body;
  }
  return undefined;
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ENOENT: 'there is no such socket',
  EACCES: 'permission denied',
};

const reasonOf = (error: unknown): string => REASONS[codeOf(error) ?? ''] ?? messageOf(error);
