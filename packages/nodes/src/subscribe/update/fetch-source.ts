import type { Fetch, FetchedDocument } from '../../fetch/contract.ts';
import { isThisMachine, readAnswer, type ReadAnswer } from '../answer/read-answer.ts';
import {
  parseUpdateInterval,
  parseUserinfo,
  type Userinfo,
  type SourceState,
} from '../files/state-file.ts';
import { RefusedAnswerError, DEFAULT_MAX_SIZE, DEFAULT_TIMEOUT, type Source } from '../source.ts';

/** Headers of a provider's response that apply whatever its body. */
export interface AnswerHeaders {
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  readonly userinfo: Userinfo | undefined;
  readonly updateInterval: number | undefined;
}

/** The response of a source; `answer` is `undefined` when its nodes are unchanged. */
export interface FetchedSource {
  readonly headers: AnswerHeaders;
  readonly answer: ReadAnswer | undefined;
}

/** A rejected response, with its headers, which are used nevertheless. */
interface RefusedSource {
  readonly headers: AnswerHeaders;
  readonly refused: RefusedAnswerError;
}

/**
 * Fetches a source and reads its response.
 *
 * @param known validators of nodes that are still in the subscribe file; `undefined` to get the whole document
 * @throws {FetchError} when there is no response
 * @throws {RefusedAnswerError} for a status other than 2xx and an expected 304
 */
export async function fetchSource(
  source: Source,
  known: Pick<SourceState, 'etag' | 'lastModified'> | undefined,
  fetch: Fetch,
  signal?: AbortSignal,
): Promise<FetchedSource | RefusedSource> {
  const { url, userAgent, timeout = DEFAULT_TIMEOUT, maxSize = DEFAULT_MAX_SIZE } = source;
  const conditions = {
    ...(known?.etag !== undefined && { 'If-None-Match': known.etag }),
    ...(known?.lastModified !== undefined && { 'If-Modified-Since': known.lastModified }),
  };
  const document = await fetch(
    {
      url,
      headers: { ...(userAgent !== undefined && { 'User-Agent': userAgent }), ...conditions },
      timeoutMs: timeout * 1000,
      maxBytes: maxSize,
    },
    signal,
  );
  const headers = headersOf(document);
  const { status, body } = document;
  if (status === 304 && Object.keys(conditions).length > 0) return { headers, answer: undefined };
  if (status < 200 || status > 299) throw refusedStatus(status);
  try {
    const fromThisMachine = isThisMachine(URL.parse(url)?.hostname.replace(/^\[|\]$/g, '') ?? '');
    return { headers, answer: await readAnswer(body, { fromThisMachine }) };
  } catch (error) {
    if (error instanceof RefusedAnswerError) return { headers, refused: error };
    throw error;
  }
}

function refusedStatus(status: number): RefusedAnswerError {
  const isClients = status >= 400 && status < 500;
  return new RefusedAnswerError(
    `the server answered with status ${status}`,
    isClients
      ? { hint: 'the URL may have expired: compare it with the one your provider shows' }
      : {},
  );
}

const LONGEST_VALIDATOR = 256;

function headersOf({ headers }: FetchedDocument): AnswerHeaders {
  return {
    etag: validator(headers.get('etag')),
    lastModified: validator(headers.get('last-modified')),
    userinfo: parseUserinfo(headers.get('subscription-userinfo')),
    updateInterval: parseUpdateInterval(headers.get('profile-update-interval')),
  };
}

/** A validator that can be sent back; without it the next response is a whole document. */
const validator = (value: string | undefined): string | undefined =>
  value !== undefined && value.length <= LONGEST_VALIDATOR && /^[\x20-\x7e]+$/.test(value)
    ? value
    : undefined;
