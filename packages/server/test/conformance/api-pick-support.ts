import assert from 'node:assert/strict';
import type { Reply } from './api-client.ts';
import type { Served } from './api-harness.ts';

/** What is used by all that looks at picks. */

export const errorOf = ({ text }: Reply): string => {
  const body = JSON.parse(text) as { error: string };
  assert.deepEqual(Object.keys(body), ['error']);
  return body.error;
};

/** A pick of the default route with a body of one's own. */
export const put = (
  api: Served,
  body: string | Uint8Array,
  headers?: Record<string, string>,
): Promise<Reply> =>
  api.client.ask('PUT', '/v1/routes/default', {
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });

/** A 400 with JSON that starts so, and nothing done. */
export async function refused(api: Served, reply: Reply, start: string): Promise<void> {
  assert.equal(reply.status, 400, reply.text);
  assert.equal(reply.headers['content-type'], 'application/json');
  assert.ok(errorOf(reply).startsWith(start), reply.text);
  assert.equal(reply.headers['etag'], undefined);
  assert.deepEqual(api.app.picks, []);
  assert.equal(api.app.reloads, 0);
}
