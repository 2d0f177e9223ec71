import { readFile } from 'node:fs/promises';
import {
  request as httpRequest,
  type Agent,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { UsageError, WeirError, codeOf, messageOf, type WeirErrorOptions } from '@weir/base';
import { GrowingBytes } from '@weir/base/bytes';
import { unsendableBecause } from '@weir/config';
import { fileReason } from '@weir/io/files';
import { isBodyOf, isDataOf } from '@weir/server/api/views';
import { EventReader } from './event-reader.ts';
import { ProvenAgent, UnprovenApiError, type ApiProof } from './proven-agent.ts';

/** The API could not be reached, or rejected the request; the message is the API's, if it sent one. */
export class ApiClientError extends WeirError {
  /** The status of the response; `undefined` without one. */
  readonly status: number | undefined;
  /** The entity tag of the configuration file, quotes included, if the response has one. */
  readonly etag: string | undefined;

  constructor(
    message: string,
    options?: WeirErrorOptions & { readonly status?: number; readonly etag?: string | undefined },
  ) {
    super('ctl', message, options);
    this.status = options?.status;
    this.etag = options?.etag;
  }
}

/** The address of the API. */
export type ApiPlace =
  | { readonly kind: 'url'; readonly url: URL }
  | { readonly kind: 'unix'; readonly path: string }
  /** The address is unknown: each request fails with the reason. */
  | { readonly kind: 'unknown'; readonly reason: WeirError };

/** Address and secret of the API. */
export interface ApiAccess {
  readonly place: ApiPlace;
  readonly secret: string | undefined;
  /**
   * Verifies the peer before the secret is sent; `undefined` for an address that the user has named, which is trusted.
   */
  readonly proof?: ApiProof | undefined;
}

const DEFAULT_PLACE = '127.0.0.1:9090';
/** Milliseconds to wait for a response; a reload can be slow. */
const SILENCE_MS = 60_000;
/** Milliseconds for the body of a response that is not a stream. */
const BODY_MS = 60_000;
/** Maximum bytes of a body that is not a stream: a list of some 400,000 flows. */
const MAX_BODY = 128 << 20;

/**
 * Parses `--api`: a URL, or an address in the form of `[api] listen`.
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
  if (!parsed) throw new UsageError(`--api ${JSON.stringify(text)} is not an address`);
  return parsed;
}

export interface RequestParts {
  readonly body?: unknown;
  readonly ifMatch?: string | undefined;
  /** Aborts the request and the reading of its response. */
  readonly signal?: AbortSignal;
}

/** An event of a stream, with its data parsed. */
export interface ApiEvent {
  readonly event: string;
  readonly data: unknown;
}

/** A client of the API; every failure is an ApiClientError. */
export class ApiClient {
  #access: ApiAccess;
  /** The agent of the connections; `undefined` for Node's global agent. */
  #agent: Agent | undefined;

  constructor(place: ApiPlace, secret: string | undefined, proof?: ApiProof) {
    this.#access = { place, secret, proof };
    this.#agent = agentFor(this.#access);
  }

  /** Sends further requests to another address, with another secret or proof. */
  moveTo(access: ApiAccess): void {
    const isSame = keyOf(access) === keyOf(this.#access);
    this.#access = access;
    // Connections of the previous agent were verified by another proof, or by none.
    if (!isSame) this.#agent = agentFor(access);
  }

  /** Sends a request and returns the JSON of the response; `undefined` when it has no body. */
  async ask(method: string, path: string, parts: RequestParts = {}): Promise<unknown> {
    return (await this.askTagged(method, path, parts)).body;
  }

  /**
   * Sends a request and returns the JSON of the response with the entity tag of the configuration file, quotes
   * included, if the response has one.
   */
  async askTagged(
    method: string,
    path: string,
    parts: RequestParts = {},
  ): Promise<{ readonly body: unknown; readonly etag: string | undefined }> {
    const response = await this.#open(method, path, parts);
    const text = await textOf(response);
    const { statusCode: status = 0 } = response;
    const body = text === '' ? undefined : this.#parse(text);
    if (!isBodyOf(method, path, body)) throw this.#notTheApi({ status });
    return { body, etag: response.headers.etag };
  }

  /** Yields the events of a stream. */
  async *events(path: string, parts: Pick<RequestParts, 'signal'> = {}): AsyncGenerator<ApiEvent> {
    const response = await this.#open('GET', path, parts);
    if (response.headers['content-type']?.startsWith('text/event-stream') !== true) {
      response.destroy();
      throw this.#notTheApi({ status: response.statusCode ?? 0 });
    }
    response.setEncoding('utf8');
    const reader = new EventReader();
    try {
      for await (const chunk of response as AsyncIterable<string>) {
        for (const { event, data: text } of reader.push(chunk)) {
          const data = this.#parse(text);
          if (!isDataOf(event, data)) throw this.#notTheApi({ status: response.statusCode ?? 0 });
          yield { event, data };
        }
      }
    } catch (error) {
      if (error instanceof ApiClientError) throw error;
      throw new ApiClientError(`the API ended the stream: ${messageOf(error)}`, { cause: error });
    }
  }

  async #open(method: string, path: string, parts: RequestParts): Promise<IncomingMessage> {
    const response = await this.#send(method, path, parts);
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode < 300) return response;
    const text = errorText(await textOf(response));
    throw new ApiClientError(text ?? `${method} ${path}: status ${statusCode}`, {
      hint: this.#statusHint(path, statusCode, text),
      status: statusCode,
      etag: response.headers.etag,
    });
  }

  async #send(
    method: string,
    path: string,
    { body, ifMatch, signal }: RequestParts,
  ): Promise<IncomingMessage> {
    const headers: Record<string, string> = {};
    const { place, secret } = this.#access;
    if (place.kind === 'unknown') throw unknownPlace(place.reason);
    if (place.kind === 'unix') headers['Host'] = 'localhost';
    if (secret !== undefined) headers['Authorization'] = `Bearer ${secret}`;
    if (ifMatch !== undefined) headers['If-Match'] = ifMatch;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    try {
      const agent = this.#agent;
      const request = requestAt(
        place,
        {
          method,
          headers,
          timeout: SILENCE_MS,
          ...(agent && { agent }),
          ...(signal && { signal }),
        },
        path,
      );
      request
        .once('response', (response) => {
          request.setTimeout(0);
          resolve(response);
        })
        .once('timeout', () => request.destroy(new Error('no response')))
        .on('error', reject)
        .end(body === undefined ? undefined : JSON.stringify(body));
      return await promise;
    } catch (error) {
      if (error instanceof UnprovenApiError) throw this.#unproven(error);
      throw new ApiClientError(`cannot reach the API on ${this.#where()}: ${reasonOf(error)}`, {
        cause: error,
        hint: this.#unreachableHint(codeOf(error) ?? ''),
      });
    }
  }

  #statusHint(path: string, status: number, text: string | undefined): string | undefined {
    if (status === 401) {
      return this.#access.secret === undefined
        ? 'the API requires its secret: --secret-file names a file with [api].secret'
        : 'the secret of --secret-file, or else of the configuration, is not that of the running [api]';
    }
    // The body of an error has only the message.
    if (path === '/v1/reload' && text !== undefined) {
      return 'the log of Weir has the file and the line, and further hints';
    }
    if (status === 500 && text !== undefined && isNotPermitted(text)) {
      return 'the user of the running Weir has to be able to write in the folder of its configuration; for the packaged service, "Picks by the API" in docs/service.md has the settings';
    }
    // Every request is for a path of the API, whose errors have a text.
    return text === undefined || text.trimStart().startsWith('<') ? this.#otherServer() : undefined;
  }

  #unreachableHint(code: string): string | undefined {
    const listens =
      'is Weir running with an [api] table, and is its listen the address of --api? A service of another user needs sudo';
    switch (code) {
      case 'ECONNREFUSED':
      case 'ENOENT':
        return `nothing listens on ${this.#where()}: ${listens}`;
      case 'EACCES':
        return 'the permissions of the socket and its folder decide who may use the API';
      default:
        // Errors of Node's parser, and a peer that closes on unknown input.
        return /^HPE_|^ECONNRESET$/.test(code) ? this.#otherServer() : undefined;
    }
  }

  #otherServer(): string {
    return `${this.#where()} seems to be something else than the API of Weir: see listen of [api]`;
  }

  #unproven(cause: UnprovenApiError): ApiClientError {
    const where = this.#where();
    return new ApiClientError(`the secret of the API was not sent to ${where}: ${cause.message}`, {
      cause,
      hint: `if Weir is there all the same, name the address: --api ${where}, beside --config FILE or --secret-file FILE`,
    });
  }

  #where(): string {
    const { place } = this.#access;
    switch (place.kind) {
      case 'unix':
        return place.path;
      case 'url':
        return place.url.host;
      case 'unknown':
        return 'no address';
      default:
        return place satisfies never;
    }
  }

  #parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw this.#notTheApi({ cause: error });
    }
  }

  #notTheApi(more: { readonly cause?: unknown; readonly status?: number }): ApiClientError {
    return new ApiClientError(`the server on ${this.#where()} is not the API`, {
      ...more,
      hint: this.#otherServer(),
    });
  }
}

const agentFor = ({ secret, proof }: ApiAccess): Agent | undefined =>
  secret !== undefined && proof ? new ProvenAgent(proof) : undefined;

const keyOf = ({ place, secret, proof }: ApiAccess): string =>
  JSON.stringify([
    place,
    secret,
    proof && [...proof.owners].toSorted((a, b) => a - b),
    proof?.secretFile,
  ]);

const unknownPlace = (reason: WeirError): ApiClientError =>
  new ApiClientError(reason.message, { cause: reason, hint: reason.hint });

function requestAt(
  place: Exclude<ApiPlace, { kind: 'unknown' }>,
  options: RequestOptions,
  path: string,
) {
  if (place.kind === 'unix') return httpRequest({ ...options, socketPath: place.path, path });
  const { url } = place;
  // The URL may have the path of a reverse proxy.
  const target = new URL(url.pathname.replace(/\/$/, '') + path, url);
  return (url.protocol === 'https:' ? httpsRequest : httpRequest)(target, options);
}

/**
 * Reads a secret from a file, without the end of its line.
 *
 * @param option the option that names the file, for messages
 * @throws {ApiClientError}
 * @throws {UsageError} for a text that is empty, which every client would know, or that no request can carry
 */
export async function readSecret(path: string, option: string): Promise<string> {
  let secret: string;
  try {
    secret = (await readFile(path, 'utf8')).replace(/\r?\n$/, '');
  } catch (error) {
    throw new ApiClientError(`cannot read the secret in ${path}: ${fileReason(error)}`, {
      cause: error,
    });
  }
  if (secret === '') throw new UsageError(`the file of ${option} is empty`);
  const reason = unsendableBecause(secret);
  if (reason !== undefined) throw new UsageError(`the secret in the file of ${option} ${reason}`);
  return secret;
}

/**
 * Reads the body of a response.
 *
 * @throws {ApiClientError} when it is longer, or takes longer, than any response of the API
 */
async function textOf(response: IncomingMessage): Promise<string> {
  const body = new GrowingBytes();
  const late = setTimeout(() => response.destroy(new Error('it takes too long')), BODY_MS);
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (body.length + chunk.length > MAX_BODY) {
        throw new Error(`it is longer than ${MAX_BODY >> 20} MB`);
      }
      body.append(chunk);
    }
  } catch (error) {
    throw new ApiClientError(`the API aborted its response: ${messageOf(error)}`, { cause: error });
  } finally {
    clearTimeout(late);
  }
  return body.buffer.toString();
}

/** The error text of a response: JSON with `error`, or plain text. */
function errorText(body: string): string | undefined {
  if (body === '') return undefined;
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value !== 'object' || value === null || !('error' in value)) return undefined;
    return typeof value.error === 'string' ? value.error : undefined;
  } catch {
    return body;
  }
}

/** Whether the API could not write a file for lack of permission, and not because the disk is full. */
const isNotPermitted = (error: string): boolean =>
  error.startsWith('writing ') &&
  ['EACCES', 'EPERM', 'EROFS'].some((code) => error.includes(`: ${code}`));

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOENT: 'no such socket',
  EACCES: 'permission denied',
};

const reasonOf = (error: unknown): string => REASONS[codeOf(error) ?? ''] ?? messageOf(error);
