import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { ControlError } from '../../src/api/contract.ts';
import { ROUTES } from '../../src/api/routes.ts';
import { VERSION } from '@weir/base';
import type { Asked, Reply } from './api-client.ts';
import { openFlow, type FakeApp } from './api-fake.ts';
import { serve, type Served } from './api-harness.ts';

type Fields = { readonly [key: string]: unknown };

const document = parse(
  readFileSync(new URL('../../../../docs/openapi.yaml', import.meta.url), 'utf8'),
) as Fields;
const components = document['components'] as { readonly [kind: string]: Fields };
const schemas = components['schemas'] as Fields;
const paths = document['paths'] as { readonly [path: string]: Fields };

const responsesOf = (method: string, path: string): Fields =>
  ((paths[path]?.[method.toLowerCase()] as Fields | undefined)?.['responses'] ?? {}) as Fields;

/** Strict: an unknown word of a schema is an error. */
const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, strictTuples: false });
ajv.addFormat('uint64', true).addKeyword('components');

/** Follows a reference within the document. */
function resolve(value: unknown): Fields {
  const fields = value as Fields;
  const { $ref: reference } = fields;
  if (typeof reference !== 'string') return fields;
  let target: unknown = document;
  for (const name of reference.replace(/^#\//, '').split('/')) target = (target as Fields)[name];
  assert.ok(target !== undefined, `${reference} leads nowhere`);
  return resolve(target);
}

function assertMatches(schema: unknown, value: unknown, name: string): void {
  const validate = ajv.compile({ ...(schema as AnySchema & object), components });
  assert.ok(validate(value), `${name}: ${ajv.errorsText(validate.errors)}`);
}

/** Every status of every operation in the file. */
const documented = Object.entries(paths).flatMap(([path, operations]) =>
  Object.keys(operations).flatMap((method) =>
    Object.keys(responsesOf(method, path)).map(
      (status) => `${method.toUpperCase()} ${path} ${status}`,
    ),
  ),
);

/** A request that makes a server respond so. */
interface Case {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The path that is asked for, where the route has a parameter or takes a query. */
  readonly asked?: string;
  readonly with?: Asked;
  readonly prepare?: (app: FakeApp) => void;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const PICK: Asked = { headers: JSON_TYPE, body: '{"target":"osaka"}' };
const control = (code: 'invalid' | 'failed') => new ControlError(code, 'as the test wants it');

const CASES: readonly Case[] = [
  { method: 'GET', path: '/v1/routes', status: 200 },
  {
    method: 'GET',
    path: '/v1/routes',
    status: 422,
    prepare: (app) => void (app.routesError = control('invalid')),
  },
  {
    method: 'GET',
    path: '/v1/routes',
    status: 500,
    prepare: (app) => void (app.routesError = control('failed')),
  },
  { method: 'POST', path: '/v1/reload', status: 200 },
  {
    method: 'POST',
    path: '/v1/reload',
    status: 200,
    prepare: (app) => void (app.report = { status: 'unchanged' }),
  },
  {
    method: 'POST',
    path: '/v1/reload',
    status: 422,
    prepare: (app) => void (app.reloadError = control('invalid')),
  },
  {
    method: 'POST',
    path: '/v1/reload',
    status: 500,
    prepare: (app) => void (app.reloadError = control('failed')),
  },
  ...(
    [
      [200, 'default', PICK],
      [400, 'default', { headers: JSON_TYPE, body: '{}' }],
      [400, '%FF', PICK],
      [404, 'absent', PICK],
      [409, 'default', { ...PICK, headers: { ...JSON_TYPE, 'if-match': '""' } }],
      [422, 'default', { headers: JSON_TYPE, body: '{"target":"nowhere"}' }],
    ] as const
  ).map(([status, group, asked]) => ({
    method: 'PUT',
    path: '/v1/routes/{group}',
    asked: `/v1/routes/${group}`,
    status,
    with: asked,
  })),
  ...(['invalid', 'failed'] as const).map((code) => ({
    method: 'PUT',
    path: '/v1/routes/{group}',
    asked: '/v1/routes/default',
    status: code === 'invalid' ? 422 : 500,
    with: PICK,
    prepare: (app: FakeApp) => void (app.reloadError = control(code)),
  })),
  { method: 'GET', path: '/v1/connections', status: 200, prepare: openSome },
  { method: 'DELETE', path: '/v1/connections', status: 200, asked: '/v1/connections?user=ann' },
  { method: 'DELETE', path: '/v1/connections', status: 400, asked: '/v1/connections?x=1' },
  {
    method: 'DELETE',
    path: '/v1/connections/{flow}',
    status: 204,
    asked: '/v1/connections/1',
    prepare: openSome,
  },
  { method: 'DELETE', path: '/v1/connections/{flow}', status: 404, asked: '/v1/connections/1' },
  { method: 'DELETE', path: '/v1/connections/{flow}', status: 400, asked: '/v1/connections/x' },
  { method: 'GET', path: '/v1/version', status: 200 },
  { method: 'GET', path: '/v1/health', status: 200 },
];

/** Streams do not end: they are looked at by their head. */
const STREAMS = ['/v1/traffic', '/v1/connections/events'];

function openSome(app: FakeApp): void {
  const session = app.tracker.openSession('socks', '10.0.0.1', { bytesRead: 1, bytesWritten: 2 });
  openFlow(app, { session, user: 'ann', rule: 3, sniffed: 'a.example' });
  openFlow(app, { source: undefined });
}

/** Compares a response with its description in the file. */
function assertDocumented({ method, path, status }: Case, reply: Reply): void {
  const name = `${method} ${path} ${status}`;
  assert.equal(reply.status, status, `${name}: ${reply.text}`);
  const response = resolve(responsesOf(method, path)[String(status)] ?? {});
  for (const [header, one] of Object.entries((response['headers'] ?? {}) as Fields)) {
    const { schema = {} } = resolve(one);
    assertMatches(schema, reply.headers[header.toLowerCase()], name);
  }
  const content = (response['content'] ?? {}) as Fields;
  const [type] = (reply.headers['content-type'] ?? '').split(';');
  if (type === '') {
    assert.deepEqual([Object.keys(content), reply.text], [[], ''], name);
    return;
  }
  const { schema } = (content[type ?? ''] ?? {}) as Fields;
  assert.ok(schema !== undefined, `${name}: ${type} is not documented`);
  const body: unknown = type === 'application/json' ? JSON.parse(reply.text) : reply.text;
  assertMatches(schema, body, name);
}

const ask = (api: Served, { method, path, asked, with: more }: Case): Promise<Reply> =>
  api.client.ask(method, asked ?? path.replace('{group}', 'default').replace('{flow}', '1'), more);

describe('docs/openapi.yaml', () => {
  test('has every route of the server, and no other', () => {
    const inFile = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    assert.deepEqual(inFile.sort(), ROUTES.map(({ method, path }) => `${method} ${path}`).sort());
  });

  test('every status in it is one that this test asks a server for', () => {
    const asked = new Set(CASES.map(({ method, path, status }) => `${method} ${path} ${status}`));
    for (const path of STREAMS) asked.add(`GET ${path} 200`);
    for (const { method, path } of ROUTES) {
      for (const status of [401, 403, 421]) asked.add(`${method} ${path} ${status}`);
    }
    assert.deepEqual(documented.toSorted(), [...asked].sort());
  });

  for (const one of CASES) {
    test(`${one.method} ${one.asked ?? one.path} responds ${one.status} as documented`, async () => {
      await using api = await serve('tcp');
      one.prepare?.(api.app);
      assertDocumented(one, await ask(api, one));
    });
  }

  test('401, 403 and 421 of every route are as documented', async () => {
    await using open = await serve('tcp');
    await using closed = await serve('tcp', 'sesame');
    for (const { method, path } of ROUTES) {
      const refusals = [
        { api: { ...closed, client: closed.unauthenticated }, status: 401, headers: {} },
        { api: open, status: 403, headers: { origin: 'https://evil.example' } },
        { api: open, status: 421, headers: { host: 'evil.example' } },
      ];
      for (const { api, status, headers } of refusals) {
        const one = { method, path, status, with: { headers } };
        assertDocumented(one, await ask(api, one));
      }
    }
  });

  test('events are as documented', async () => {
    await using api = await serve('tcp');
    const assertIs = (name: string, data: unknown): void =>
      assertMatches(schemas[name] ?? {}, data, name);
    using traffic = await api.client.events('/v1/traffic');
    using events = await api.client.events('/v1/connections/events');
    assert.deepEqual(
      [traffic.contentType, events.contentType],
      ['text/event-stream', 'text/event-stream'],
    );
    openSome(api.app);
    for (const { name, data } of await events.take(2)) {
      assert.equal(name, 'opened');
      assertIs('Flow', data);
    }
    api.app.clock.advance(1_000);
    assertIs('Traffic', (await traffic.next())?.data);
    for (let i = 0; i < 2_000; i++) openFlow(api.app);
    const lagged = await events.next();
    assert.equal(lagged?.name, 'lagged');
    assertIs('Lagged', lagged.data);
  });

  test('what a route takes is documented', () => {
    const parameters = (method: string, path: string): string[] => {
      const operation = paths[path]?.[method] as Fields | undefined;
      return ((operation?.['parameters'] ?? []) as { name: string }[]).map(({ name }) => name);
    };
    assert.deepEqual(parameters('delete', '/v1/connections'), [
      'outbound',
      'inbound',
      'session',
      'user',
    ]);
    assert.deepEqual(parameters('put', '/v1/routes/{group}'), ['group', 'If-Match']);
    for (const { method, path } of ROUTES) {
      const [, name] = /\{(\w+)\}/.exec(path) ?? [];
      if (name !== undefined)
        assert.ok(parameters(method.toLowerCase(), path).includes(name), path);
    }
  });

  test('demands no token where none is set: either nothing, or a token', () => {
    assert.deepEqual(document['security'], [{}, { bearer: [] }]);
  });

  test('has no number beyond those that generators of code take', () => {
    const numbers: number[] = [];
    JSON.stringify(document, (_, value: unknown) => {
      if (typeof value === 'number') numbers.push(value);
      return value;
    });
    assert.ok(Math.max(...numbers) <= Number.MAX_SAFE_INTEGER);
    assert.deepEqual(schemas['U64'], { type: 'integer', format: 'uint64', minimum: 0 });
  });

  test('is of the version of the program', () => {
    assert.equal((document['info'] as Fields)['version'], VERSION);
  });

  test('every reference in it resolves, and every component is referred to', () => {
    const text = JSON.stringify(document);
    const references = new Set(
      Array.from(text.matchAll(/"\$ref":"([^"]+)"/g), ([, to]) => to ?? ''),
    );
    for (const reference of references) resolve({ $ref: reference });
    for (const [kind, named] of Object.entries(components)) {
      if (kind === 'securitySchemes') continue;
      for (const name of Object.keys(named)) {
        const used = references.has(`#/components/${kind}/${name}`);
        assert.ok(used || ['Lagged', 'Traffic'].includes(name), `${kind}/${name}`);
      }
    }
  });
});
