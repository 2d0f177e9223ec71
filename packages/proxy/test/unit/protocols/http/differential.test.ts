import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import { duplexPair } from 'node:stream';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  createDecoder,
  MessageError,
  requestFraming,
  HeadScanner,
  startsRequest,
  parseRequestHead,
} from '@weir/http/http1';
import { HEAD_LIMIT } from '@weir/http/fields';

/** A request as a reader understood it. */
interface Understood {
  readonly method: string;
  readonly target: string;
  readonly fields: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
}

/** As this codec reads it; `undefined` when it is invalid or incomplete. */
function ours(bytes: Buffer): Understood | undefined {
  try {
    const scanner = new HeadScanner(HEAD_LIMIT, startsRequest);
    const end = scanner.push(bytes);
    if (end === undefined) return undefined;
    const { method, target, fields, ...head } = parseRequestHead(scanner.head);
    const decoder = createDecoder(requestFraming({ method, target, fields, ...head }));
    const payload: Uint8Array[] = [];
    decoder.push(bytes.subarray(end), payload);
    if (!decoder.done) return undefined;
    return {
      method,
      target,
      fields: fields.flatMap(({ name, value }) => [name, value]),
      body: Buffer.concat(payload).toString('latin1'),
      trailers: decoder.trailers.flatMap(({ name, value }) => [name, value]),
    };
  } catch (error) {
    assert.ok(error instanceof MessageError, String(error));
    return undefined;
  }
}

/** As Node's own parser understands it. */
async function nodes(bytes: Buffer): Promise<Understood | undefined> {
  const { promise, resolve } = Promise.withResolvers<Understood | undefined>();
  const server = createServer({ requireHostHeader: false, maxHeaderSize: HEAD_LIMIT });
  const read = async (request: IncomingMessage): Promise<void> => {
    let body = '';
    request.setEncoding('latin1');
    for await (const chunk of request) body += String(chunk);
    resolve({
      method: request.method ?? '',
      target: request.url ?? '',
      fields: request.rawHeaders,
      body,
      trailers: request.rawTrailers,
    });
  };
  // Otherwise the client's end aborts a request that was complete.
  Object.assign(server, { httpAllowHalfOpen: true });
  let taken = false;
  const take = (request: IncomingMessage): void => {
    taken = true;
    void read(request).catch(() => resolve(undefined));
  };
  server.on('request', take).on('checkContinue', take).on('checkExpectation', take);
  server.on('upgrade', take);
  server.on('clientError', () => resolve(undefined));
  const [near, far] = duplexPair();
  near.on('error', () => undefined).resume();
  far.on('error', () => undefined);
  server.emit('connection', far);
  near.end(bytes);
  far.on('end', () => setImmediate(() => taken || resolve(undefined)));
  try {
    return await promise;
  } finally {
    near.destroy();
    far.destroy();
  }
}

const token = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,8}$/).map((name) => `X-${name}`);
const value = fc.stringMatching(/^([!-~]([ -~]{0,10}[!-~])?)?$/);
const lines = fc
  .array(fc.tuple(token, value), { maxLength: 5 })
  .map((fields) => fields.map(([name, text]) => `${name}: ${text}\r\n`).join(''));
const payload = fc.stringMatching(/^[ -~]{0,30}$/);
const chunks = fc.array(fc.stringMatching(/^[ -~]{1,20}$/), { maxLength: 4 });

const sized = fc
  .tuple(lines, payload)
  .map(([fields, body]) => `${fields}Content-Length: ${body.length}\r\n\r\n${body}`);
const chunked = fc.tuple(lines, chunks, lines).map(([fields, parts, trailers]) => {
  const body = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('');
  return `${fields}Transfer-Encoding: chunked\r\n\r\n${body}0\r\n${trailers}\r\n`;
});
const bare = lines.map((fields) => `${fields}\r\n`);
const message = fc
  .tuple(fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'), fc.oneof(sized, chunked, bare))
  .map(([method, rest]) => `${method} http://a.example/x?y HTTP/1.1\r\n${rest}`);

describe('beside the parser of Node', () => {
  test('valid requests are understood in the same way', async () => {
    await fc.assert(
      fc.asyncProperty(message, async (text) => {
        const bytes = Buffer.from(text, 'latin1');
        const theirs = await nodes(bytes);
        assert.ok(theirs);
        assert.deepEqual(ours(bytes), theirs);
      }),
      { numRuns: 150 },
    );
  });

  test('what both accept of damaged requests, they understand in the same way', async () => {
    const damage = fc.constantFrom(
      '\r',
      '\n',
      '\r\n',
      ' ',
      '\t',
      '\0',
      ':',
      ';',
      ',',
      '0',
      '5',
      'g',
      '\x0b',
      '\xa0',
      'Content-Length: 3\r\n',
      'Transfer-Encoding: chunked\r\n',
      '\r\n ',
    );
    await fc.assert(
      fc.asyncProperty(message, damage, fc.nat(), fc.nat(2), async (text, extra, where, cut) => {
        const at = where % text.length;
        const bytes = Buffer.from(text.slice(0, at) + extra + text.slice(at + cut), 'latin1');
        const mine = ours(bytes);
        if (!mine) return;
        const theirs = await nodes(bytes);
        if (theirs) assert.deepEqual(mine, theirs);
      }),
      { numRuns: 600 },
    );
  });
});
