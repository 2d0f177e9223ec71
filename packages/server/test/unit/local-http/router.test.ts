import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RequestRouter, withHead } from '../../../src/local-http/router.ts';

const router = new RequestRouter(
  withHead([
    { method: 'GET', path: '/things' },
    { method: 'DELETE', path: '/things' },
    { method: 'GET', path: '/things/all' },
    { method: 'DELETE', path: '/things/{thing}' },
    { method: 'PUT', path: '/things/{thing}/parts/{part?}' },
  ]),
);

function found(method: string, path: string): unknown {
  const routed = router.find(method, path.split('/'));
  if (routed.kind === 'found') return [routed.route.path, routed.parameters];
  return routed.kind === 'wrong_method' ? routed.allow.join() : routed.kind;
}

describe('a router', () => {
  test('finds routes by method and path', () => {
    assert.deepEqual(found('GET', '/things'), ['/things', {}]);
    assert.deepEqual(found('DELETE', '/things/%20'), ['/things/{thing}', { thing: '%20' }]);
    const part = { thing: 'a', part: '' };
    assert.deepEqual(found('PUT', '/things/a/parts/'), ['/things/{thing}/parts/{part?}', part]);
  });

  test('names the methods of a path for any other, HEAD with GET', () => {
    assert.deepEqual(found('HEAD', '/things'), ['/things', {}]);
    assert.equal(found('POST', '/things'), 'GET,HEAD,DELETE');
  });

  test('takes the first path that matches, whatever the method', () => {
    assert.equal(found('DELETE', '/things/all'), 'GET,HEAD');
  });

  test('compares paths without normalisation', () => {
    for (const path of ['', '/', 'things', '/things/', '//things', '/Things', '/things//parts/b']) {
      assert.equal(found('GET', path), 'unknown', path);
    }
  });
});
