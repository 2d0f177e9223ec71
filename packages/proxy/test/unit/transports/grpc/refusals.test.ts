import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf } from '../../../../src/transports/grpc/refusals.ts';

const PATHS = new Set(['/svc/Tun', '/svc/TunMulti']);

interface Request {
  readonly method?: string;
  readonly path?: string;
  readonly type?: string | undefined;
  readonly encoding?: string;
}

function refused(request: Request): Readonly<Record<string, string>> | undefined {
  const { method = 'POST', path = '/svc/Tun', encoding } = request;
  const type = 'type' in request ? request.type : 'application/grpc';
  const fields = [
    { name: ':method', value: method },
    { name: ':path', value: path },
    ...(type === undefined ? [] : [{ name: 'content-type', value: type }]),
    ...(encoding === undefined ? [] : [{ name: 'grpc-encoding', value: encoding }]),
  ];
  const response = refusalOf(fields, PATHS);
  return response && Object.fromEntries(response.map(({ name, value }) => [name, value]));
}

const response = (status: number, code: number, message?: string): object => ({
  ':status': String(status),
  'content-type': 'application/grpc',
  'grpc-status': String(code),
  ...(message === undefined ? {} : { 'grpc-message': message }),
});

// What grpc-go 1.85 responds.
const TABLE: readonly (readonly [what: string, Request, object])[] = [
  [
    'without a type',
    { method: 'GET', path: '/', type: undefined },
    response(415, 3, 'invalid gRPC request content-type ""'),
  ],
  [
    'of another type',
    { type: 'text/html' },
    response(415, 3, 'invalid gRPC request content-type "text/html"'),
  ],
  [
    'of another method',
    { method: 'GET' },
    response(405, 13, 'Received a HEADERS frame with :method "GET" which should be POST'),
  ],
  ['for no method name', { path: '/foo' }, response(200, 12, 'malformed method name: "/foo"')],
  ['for another service', { path: '/a/b' }, response(200, 12, 'unknown service a')],
  [
    'for another method name',
    { path: '/svc/Nope' },
    response(200, 12, 'unknown method Nope for service svc'),
  ],
  ['with other characters', { path: '/%\u00e9/b' }, response(200, 12, 'unknown service %25%C3%A9')],
  [
    'of an encoding',
    { encoding: 'gzip' },
    response(200, 12, 'grpc: Decompressor is not installed for grpc-encoding "gzip"'),
  ],
  [
    'of an encoding for another service',
    { encoding: 'gzip', path: '/a/b' },
    response(200, 12, 'unknown service a'),
  ],
  ['with a long path', { path: `/${'a'.repeat(200)}/b` }, response(200, 12)],
];

for (const [what, request, expected] of TABLE) {
  test(`a request ${what} gets the response of grpc-go`, () => {
    assert.deepEqual(refused(request), expected);
  });
}

test('a request for a tunnel, of any subtype, is not refused', () => {
  for (const type of ['application/grpc', 'application/grpc+proto', 'application/grpc;a=b']) {
    assert.equal(refused({ type, path: '/svc/TunMulti' }), undefined);
  }
});
