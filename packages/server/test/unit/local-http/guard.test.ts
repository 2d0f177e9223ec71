import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { type GuardedPlace, pagePlace } from '../../../src/local-http/guard.ts';
import { LocalHttpError } from '../../../src/local-http/local-exchange.ts';
import { guardRequest } from '../../../src/local-http/local-server.ts';

const PLAIN = pagePlace('http', 8080, () => false);
const TLS = pagePlace('https', 443, (host) => host === 'weir.example' || host === '192.0.2.1');
const UNIX = pagePlace('http', undefined, () => false);

type Headers = Parameters<typeof guardRequest>[0]['headers'];

function codeOf(
  headers: Headers,
  { method = 'GET', place = PLAIN, policy = {} }: Partial<Case> = {},
): string | undefined {
  try {
    guardRequest({ method, headers }, place, policy);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof LocalHttpError);
    assert.equal(error.status, 403);
    return error.code;
  }
}

interface Case {
  readonly method: string;
  readonly place: GuardedPlace;
  readonly policy: Parameters<typeof guardRequest>[2];
}

describe('the host of a request', () => {
  for (const host of [
    '127.0.0.1:8080',
    '127.1.2.3:8080',
    'localhost:8080',
    'LOCALHOST:8080',
    '[::1]:8080',
  ]) {
    test(`${host} is served`, () => assert.equal(codeOf({ host }), undefined));
  }
  for (const host of [
    'evil.example:8080',
    'localhost.evil.example:8080',
    'localhost:8081',
    'localhost',
    '127.0.0.1.evil.example:8080',
    '192.168.1.1:8080',
    '[::1]evil:8080',
    'user@127.0.0.1:8080',
    '127.0.0.1:8080/',
    '0.0.0.0:8080',
    'localhost.:8080',
    '127.0.0.1.:8080',
    '127.1:8080',
    '2130706433:8080',
    '[::]:8080',
    '[::ffff:127.0.0.1]:8080',
    '[::1:8080',
    'EVIL.EXAMPLE:8080',
    'localhost:08080x',
    ' localhost:8080',
  ]) {
    test(`${host} is refused`, () => assert.equal(codeOf({ host }), 'foreign-host'));
  }

  test('a request without one is not from a browser', () => assert.equal(codeOf({}), undefined));

  test('the default port is not written', () => {
    assert.equal(
      codeOf({ host: 'localhost' }, { place: pagePlace('http', 80, () => false) }),
      undefined,
    );
    assert.equal(codeOf({ host: 'localhost' }, { place: TLS }), undefined);
  });

  test('with TLS the names of the certificate are served', () => {
    assert.equal(codeOf({ host: 'weir.example' }, { place: TLS }), undefined);
    assert.equal(codeOf({ host: '192.0.2.1' }, { place: TLS }), undefined);
    assert.equal(codeOf({ host: 'evil.example' }, { place: TLS }), 'foreign-host');
  });

  test('a unix socket is reached through any port', () => {
    assert.equal(codeOf({ host: 'localhost:9999' }, { place: UNIX }), undefined);
    assert.equal(codeOf({ host: 'evil.example:9999' }, { place: UNIX }), 'foreign-host');
  });
});

describe('the origin of a request', () => {
  const host = '127.0.0.1:8080';

  test('the own page is served', () => {
    assert.equal(codeOf({ host, origin: 'http://127.0.0.1:8080' }), undefined);
  });

  for (const origin of [
    'http://evil.example',
    'https://127.0.0.1:8080',
    'http://localhost:8080',
    'http://127.0.0.1:8081',
    'null',
    '',
  ]) {
    test(`${JSON.stringify(origin)} is refused`, () =>
      assert.equal(codeOf({ host, origin }), 'foreign-origin'));
  }

  test('what forwards to a unix socket may have TLS', () => {
    const headers = { host: 'localhost:8443', origin: 'https://localhost:8443' };
    assert.equal(codeOf(headers, { place: UNIX }), undefined);
  });

  test('an invited origin is served, whatever its site', () => {
    const policy = { origins: new Set(['https://board.example']) };
    const headers = { host, origin: 'https://board.example', 'sec-fetch-site': 'cross-site' };
    assert.equal(codeOf(headers, { policy }), undefined);
    assert.equal(
      codeOf({ ...headers, origin: 'https://evil.example' }, { policy }),
      'foreign-origin',
    );
  });
});

describe('the site of a request', () => {
  const host = 'localhost:8080';

  for (const site of ['same-origin', 'none']) {
    test(`${site} is served`, () =>
      assert.equal(codeOf({ host, 'sec-fetch-site': site }), undefined));
  }
  for (const site of ['cross-site', 'same-site', 'anything']) {
    test(`${site} is refused`, () =>
      assert.equal(codeOf({ host, 'sec-fetch-site': site }), 'cross-site'));
  }

  test('a link that the user follows is served, a frame or an image is not', () => {
    const link = {
      host,
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    assert.equal(codeOf(link), undefined);
    assert.equal(codeOf(link, { method: 'POST' }), 'cross-site');
    assert.equal(codeOf({ ...link, 'sec-fetch-dest': 'iframe' }), 'cross-site');
    assert.equal(codeOf({ ...link, 'sec-fetch-mode': 'no-cors' }), 'cross-site');
  });
});

test('changes need the header, reading does not', () => {
  const policy = { changeHeader: 'x-weir' };
  const host = 'localhost:8080';
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    assert.equal(codeOf({ host }, { method, policy }), 'no-change-header');
    assert.equal(codeOf({ host, 'x-weir': '1' }, { method, policy }), undefined);
  }
  assert.equal(codeOf({ host }, { method: 'GET', policy }), undefined);
});

test('any headers are served or refused, and no foreign host or origin is served', () => {
  const header = fc.option(
    fc.oneof(fc.string(), fc.constantFrom('localhost:8080', 'http://localhost:8080', 'none')),
    { nil: undefined },
  );
  fc.assert(
    fc.property(header, header, header, (host, origin, site) => {
      if (codeOf({ host, origin, 'sec-fetch-site': site }) !== undefined) return;
      assert.match(host ?? '', /^$|^(?:localhost|127\.[\d.]+|\[::1\]):8080$/i);
      if (origin !== undefined) assert.equal(origin, `http://${host}`);
    }),
  );
});
