import { type HttpField, valueOf } from '@weir/http/fields';
import { escaped } from '../request-target.ts';
import { CONTENT_TYPE } from './settings.ts';

/**
 * Responses to requests that do not open a tunnel, and to invalid messages: identical to those of grpc-go, on which
 * most servers run, so that responses do not identify the server.
 */

/** Status codes of gRPC. */
const INVALID_ARGUMENT = 3;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;

/**
 * Limit of a message in characters. A longer message is omitted: with header compression a client could cause responses
 * of kilobytes with requests of a few bytes.
 */
const MESSAGE_LIMIT = 200;

/**
 * Returns the response that refuses a request; `undefined` for one that opens a tunnel.
 * @param paths the paths of tunnels.
 */
export function refusalOf(
  fields: readonly HttpField[],
  paths: ReadonlySet<string>,
): readonly HttpField[] | undefined {
  const contentType = valueOf(fields, 'content-type') ?? '';
  if (!isGrpc(contentType)) {
    const text = `invalid gRPC request content-type ${quoted(contentType)}`;
    return response('415', INVALID_ARGUMENT, text);
  }
  const method = valueOf(fields, ':method') ?? '';
  if (method !== 'POST') {
    const text = `Received a HEADERS frame with :method ${quoted(method)} which should be POST`;
    return response('405', INTERNAL, text);
  }
  const path = valueOf(fields, ':path') ?? '';
  if (!paths.has(path)) return response('200', UNIMPLEMENTED, unknown(path, paths));
  const encoding = valueOf(fields, 'grpc-encoding') ?? '';
  if (encoding === '' || encoding === 'identity') return undefined;
  const text = `grpc: Decompressor is not installed for grpc-encoding ${quoted(encoding)}`;
  return response('200', UNIMPLEMENTED, text);
}

/** Returns the trailers of a call with an invalid message. @param text the error text of grpc-go */
export const invalidMessage = (text: string): readonly HttpField[] => statusOf(INTERNAL, text);

/** Whether a content type is `application/grpc`, with or without a subtype such as `+proto` or parameters. */
const isGrpc = (contentType: string): boolean => /^application\/grpc(?:$|[+;])/i.test(contentType);

function unknown(path: string, paths: ReadonlySet<string>): string {
  const at = path.lastIndexOf('/');
  if (at <= 0) return `malformed method name: ${quoted(path)}`;
  const service = path.slice(1, at);
  const isKnown = [...paths].some((known) => known.startsWith(`/${service}/`));
  return isKnown
    ? `unknown method ${path.slice(at + 1)} for service ${service}`
    : `unknown service ${service}`;
}

const quoted = (text: string): string => JSON.stringify(text);

function response(status: string, code: number, text: string): readonly HttpField[] {
  return [
    { name: ':status', value: status },
    { name: 'content-type', value: CONTENT_TYPE },
    ...statusOf(code, text),
  ];
}

function statusOf(code: number, text: string): readonly HttpField[] {
  const fields = [{ name: 'grpc-status', value: String(code) }];
  if (text.length > MESSAGE_LIMIT) return fields;
  return [...fields, { name: 'grpc-message', value: percentEncoded(text) }];
}

/** Percent-encodes a `grpc-message`: `%` and all characters but visible ASCII and spaces. */
const percentEncoded = (text: string): string => escaped(text, /[^\x20-\x7e]|%/g);
