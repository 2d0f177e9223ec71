import type { ApiOptions } from '@weir/config';
import { addressPlace, type GuardedPlace, rejectionOf } from '../../local-http/guard.ts';
import { RequestRouter, splitRequestTarget, withHead } from '../../local-http/router.ts';
import { bearerToken, secretCheck } from '../../local-http/secret.ts';
import { type ApiRoute, ROUTES } from '../routes.ts';
import {
  type ApiResponse,
  empty,
  foreignOrigin,
  misdirected,
  unauthorized,
  json,
} from './response.ts';
import { valuesOf, parseRequestHead, MessageError } from '@weir/http/http1';
import { codeOf } from '@weir/base';

/** The parts of a request that are checked before any handler runs. */
export interface ApiRequestHead {
  readonly method: string;
  /** The request target, undecoded. */
  readonly target: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The `Sec-Fetch-Site` header. */
  readonly fetchSite: string | readonly string[] | undefined;
  readonly authorization: string | undefined;
}

export type FilterDecision =
  | { readonly kind: 'response'; readonly response: ApiResponse }
  | {
      readonly kind: 'call';
      readonly route: ApiRoute;
      readonly parameters: Readonly<Record<string, string>>;
      readonly query: string;
    };

/**
 * Filters and routes requests: checks the token first, for any path; without a secret, whether the request may come
 * from a web page; then the route.
 */
export class RequestFilter {
  readonly #router = new RequestRouter(withHead(ROUTES));
  readonly #isAuthorized: BearerCheck | undefined;
  /** A listener without a secret, which is open to all programs of this host, but not to web pages. */
  readonly #place: GuardedPlace | undefined;

  /** @param port the bound port; `undefined` for a unix socket. */
  constructor({ secret }: ApiOptions, port: number | undefined) {
    this.#isAuthorized = secret === undefined ? undefined : bearerCheck(secret);
    this.#place = secret === undefined && port !== undefined ? addressPlace(port) : undefined;
  }

  judge(head: ApiRequestHead): FilterDecision {
    if (this.#isAuthorized && !this.#isAuthorized(head.authorization)) {
      return { kind: 'response', response: unauthorized() };
    }
    const target = splitRequestTarget(head.target);
    const rejection = this.#rejectWebPage(head, target.authority ?? head.host);
    if (rejection) return { kind: 'response', response: rejection };
    const routed = this.#router.find(head.method, target.path.split('/'));
    switch (routed.kind) {
      case 'found':
        return { ...routed, kind: 'call', query: target.query };
      case 'wrong_method':
        return { kind: 'response', response: empty(405, { Allow: routed.allow.join(',') }) };
      case 'unknown':
        return { kind: 'response', response: empty(404) };
      default:
        return routed satisfies never;
    }
  }

  #rejectWebPage(
    { origin, fetchSite }: ApiRequestHead,
    authority: string | undefined,
  ): ApiResponse | undefined {
    if (!this.#place) return undefined;
    const rejection = rejectionOf({ authority, origin, fetchSite }, this.#place);
    return rejection && (rejection === 'foreign-host' ? misdirected() : foreignOrigin());
  }
}

/** Characters other than visible ASCII, space and tab. */
const FOREIGN = /[^\t\x20-\x7e]/;

/** Whether an `Authorization` header carries the secret. */
type BearerCheck = (authorization: string | undefined) => boolean;

/** Creates a check for `secret`. */
export function bearerCheck(secret: string): BearerCheck {
  const isSecret = secretCheck(secret);
  return (authorization = '') => {
    const token = FOREIGN.test(authorization) ? undefined : bearerToken(authorization);
    return token !== undefined && isSecret(token);
  };
}

/*
 * HTTP without Node's parser, for requests that it rejects: an unknown method, a path with unexpected bytes, or input
 * that is not HTTP.
 */

const HEAD_END = '\r\n\r\n';

/** Node's parser may have rejected bytes of the target; the response still depends on the rest of it. */
const ANY_TARGET = /^\S+$/;

/**
 * Parses the header section of the request around `offset`, where the parser rejected the first line. `undefined` when
 * it is incomplete, or invalid here as well.
 */
export function parseHead(received: Buffer, offset: number): ApiRequestHead | undefined {
  const start = offset === 0 ? 0 : received.lastIndexOf('\n', offset - 1) + 1;
  const end = received.indexOf(HEAD_END, start);
  if (end < 0) return undefined;
  const bytes = received.subarray(start, end + HEAD_END.length);
  try {
    const { method, target, fields } = parseRequestHead(bytes, Infinity, ANY_TARGET);
    const first = (key: string): string | undefined => valuesOf(fields, key)[0];
    return {
      method,
      target,
      host: first('host'),
      origin: first('origin'),
      fetchSite: first('sec-fetch-site'),
      authorization: first('authorization'),
    };
  } catch (error) {
    if (error instanceof MessageError) return undefined;
    throw error;
  }
}

const rejection = (status: number, error: string): ApiResponse => json(status, { error });

const NOT_HTTP = rejection(400, 'the request is not HTTP/1.1');

const REJECTIONS: ReadonlyMap<string, ApiResponse> = new Map([
  ['HPE_HEADER_OVERFLOW', rejection(431, 'the head of the request is too long')],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', rejection(413, 'the chunk extensions are too long')],
  ['ERR_HTTP_REQUEST_TIMEOUT', rejection(408, 'the request took too long to arrive')],
]);

/**
 * The response to input that Node's parser rejects. Input in the form of a request, with an unknown method or
 * unexpected bytes in its path, is handled like any other request, as far as that needs no handler. The rest is not
 * HTTP and needs no authorisation.
 */
export function parserRejection(error: Error, filter: RequestFilter): ApiResponse {
  return REJECTIONS.get(codeOf(error) ?? '') ?? judge(error, filter) ?? NOT_HTTP;
}

function judge(error: Error, filter: RequestFilter): ApiResponse | undefined {
  if (!('rawPacket' in error) || !Buffer.isBuffer(error.rawPacket)) return undefined;
  const offset = 'bytesParsed' in error ? Number(error.bytesParsed) : 0;
  const head = parseHead(error.rawPacket, offset);
  const verdict = head && filter.judge(head);
  return verdict?.kind === 'response' ? verdict.response : undefined;
}
