import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { ApiOptions } from '@weir/config';
import {
  type ApiRequestHead,
  bearerCheck,
  parseHead,
  RequestFilter,
} from '../../../src/api/http/request-filter.ts';
import { addressPlace, rejectionOf } from '../../../src/local-http/guard.ts';
import {
  parseIfMatch,
  parseSelector,
  parseU64,
  textParameter,
  u64Parameter,
} from '../../../src/api/requests.ts';
import { BadRequest } from '../../../src/api/http/response.ts';
import { splitRequestTarget } from '../../../src/local-http/router.ts';

describe('unsigned 64-bit numbers', () => {
  test('are read exactly, with the errors of Rust for others', () => {
    for (const [text, value] of [
      ['0', 0n],
      ['+7', 7n],
      ['00018446744073709551615', 18_446_744_073_709_551_615n],
    ] as const) {
      assert.deepEqual(parseU64(text), { value });
    }
    for (const [text, error] of [
      ['', 'cannot parse integer from empty string'],
      ['-1', 'invalid digit found in string'],
      ['+', 'invalid digit found in string'],
      ['٣', 'invalid digit found in string'],
      ['18446744073709551616', 'number too large to fit in target type'],
      ['9'.repeat(100_000), 'number too large to fit in target type'],
    ] as const) {
      assert.deepEqual(parseU64(text), { error });
    }
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 65n }), (number) => {
        assert.equal('value' in parseU64(String(number)), number < 2n ** 64n);
      }),
    );
  });
});

describe('path parameters', () => {
  test('any text survives being encoded and decoded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        assert.equal(textParameter('x', encodeURIComponent(text)), text);
      }),
    );
  });

  test('an escape is one byte, and a percent sign without two digits stands for itself', () => {
    for (const [segment, text] of [
      ['Video%20Streaming', 'Video Streaming'],
      ['%C3%A9%c3%a9', 'éé'],
      ['100%', '100%'],
      ['%2', '%2'],
      ['%zz%25', '%zz%'],
      ['a+b', 'a+b'],
    ] as const) {
      assert.equal(textParameter('group', segment), text);
    }
  });

  test('what is not UTF-8, or no number, is named', () => {
    assert.throws(() => textParameter('group', '%FF'), {
      name: 'BadPath',
      message: 'Invalid URL: Invalid UTF-8 in `group`',
    });
    assert.equal(u64Parameter('flow', '%37'), 7n);
    for (const segment of ['', 'x', '-1', '1.5', '18446744073709551616']) {
      assert.throws(() => u64Parameter('flow', segment), {
        message: `Invalid URL: Cannot parse \`${segment}\` to a \`u64\``,
      });
    }
  });

  test('a byte order mark is kept', () => {
    assert.equal(textParameter('x', '%EF%BB%BFa'), '\u{FEFF}a');
  });
});

describe('selectors', () => {
  const FIELDS = ['outbound', 'inbound', 'session', 'user'];

  test('read any query as URLSearchParams does, or refuse it', () => {
    const part = fc.oneof(
      fc.constantFrom(...FIELDS, '=', '&', '+', '%20', '%', '1', '%FF', '%C3%A9'),
      fc.string({ unit: 'grapheme-ascii', maxLength: 3 }),
    );
    const query = fc
      .array(part, { maxLength: 12 })
      .map((parts) => parts.join('').replaceAll(/[#?]/g, ''));
    fc.assert(
      fc.property(query, (text) => {
        const pairs = [...new URLSearchParams(text)].map(([name, value]) => [name, value] as const);
        const names = pairs.map(([name]) => name);
        const good =
          names.every((name) => FIELDS.includes(name)) &&
          new Set(names).size === names.length &&
          pairs.every(([name, value]) => name !== 'session' || 'value' in parseU64(value));
        if (!good) {
          assert.throws(() => parseSelector(text), BadRequest);
          return;
        }
        const { session, ...texts } = parseSelector(text);
        const wanted = new Map<string, string>(pairs);
        assert.deepEqual(
          { ...texts, session: session === undefined ? undefined : session >= 0 },
          {
            outbound: wanted.get('outbound'),
            inbound: wanted.get('inbound'),
            user: wanted.get('user'),
            session: wanted.has('session') ? true : undefined,
          },
        );
      }),
      { numRuns: 1_000 },
    );
  });

  test('have the text or the number of each field, and nothing of the others', () => {
    const none = { outbound: undefined, inbound: undefined, session: undefined, user: undefined };
    for (const [query, selector] of [
      ['', none],
      ['&&', none],
      ['outbound=', { ...none, outbound: '' }],
      ['outbound', { ...none, outbound: '' }],
      ['session=7', { ...none, session: 7 }],
      ['session=0', { ...none, session: 0 }],
      ['session=18446744073709551615', { ...none, session: 2 ** 64 }],
      ['user=a+b%3Dc=d&inbound=%26', { ...none, user: 'a b=c=d', inbound: '&' }],
      [
        'user=u&session=1&inbound=i&outbound=o',
        { user: 'u', session: 1, inbound: 'i', outbound: 'o' },
      ],
    ] as const) {
      assert.deepEqual(parseSelector(query), selector, query);
    }
  });

  test('name the first thing that is wrong', () => {
    for (const [query, reason] of [
      ['x=1', 'unknown field `x`, expected one of `outbound`, `inbound`, `session`, `user`'],
      ['user=a&user=b', 'duplicate field `user`'],
      ['session=', 'session: cannot parse integer from empty string'],
      ['session=x&y=1', 'session: invalid digit found in string'],
    ] as const) {
      assert.throws(() => parseSelector(query), {
        message: `Failed to deserialize query string: ${reason}`,
      });
    }
  });
});

describe('request targets', () => {
  test('are taken apart as they were sent', () => {
    for (const [target, path, query, authority] of [
      ['/a?b', '/a', 'b', undefined],
      ['/a?b?c#d', '/a', 'b?c', undefined],
      ['/a#b?c', '/a', '', undefined],
      ['/?', '/', '', undefined],
      ['*', '*', '', undefined],
      ['http://h:1/a?b', '/a', 'b', 'h:1'],
      ['HTTPS://h', '/', '', 'h'],
      ['http://h?q', '/', 'q', 'h'],
      ['//h/a', '//h/a', '', undefined],
      ['', '', '', undefined],
    ] as const) {
      assert.deepEqual(splitRequestTarget(target), { path, query, authority }, target);
    }
  });
});

describe('If-Match', () => {
  test('is any file, or the one with the tag', () => {
    for (const header of [undefined, '*', ' *\t']) {
      assert.deepEqual(parseIfMatch(header), { kind: 'any' });
    }
    for (const header of ['"ab 1"', ' "ab 1"\t']) {
      assert.deepEqual(parseIfMatch(header), { kind: 'is', etag: '"ab 1"' });
    }
    assert.deepEqual(parseIfMatch('""'), { kind: 'is', etag: '""' });
  });

  test('is rejected when it is weak, a list, or no tag', () => {
    for (const header of [
      '',
      'W/"a"',
      '"a", "b"',
      '"a,b"',
      '**',
      'a',
      '"a',
      'a"',
      '"a"b"',
      '"é"',
      '"a\u0001"',
      '"a\u007f"',
    ]) {
      assert.throws(() => parseIfMatch(header), {
        name: 'BadRequest',
        message: /^If-Match takes \* or the one entity tag/,
      });
    }
  });
});

describe('the filter of requests', () => {
  const SECRET = 'correct-horse';
  const LISTEN = { kind: 'unix', path: '/run/weir.sock', text: 'unix:/run/weir.sock' } as const;
  const plain: ApiRequestHead = {
    method: 'GET',
    target: '/v1/routes',
    host: '127.0.0.1:9090',
    origin: undefined,
    fetchSite: undefined,
    authorization: undefined,
  };
  /** The status of a rejection, or the path of the route that is called. */
  const judged = (secret: string | undefined, port: number | undefined, head: object) => {
    const filter = new RequestFilter(new ApiOptions(LISTEN, secret), port);
    const decision = filter.judge({ ...plain, ...head });
    return decision.kind === 'call' ? decision.route.path : decision.response.status;
  };

  test('asks for the secret before it looks at the path, whatever the listener', () => {
    const authorization = `bEARER  ${SECRET}`;
    for (const port of [9090, undefined]) {
      for (const target of ['/v1/routes', '/nothing']) {
        assert.equal(judged(SECRET, port, { target }), 401);
        assert.equal(judged(SECRET, port, { target, authorization: `Basic ${SECRET}` }), 401);
        assert.equal(judged(SECRET, port, { target, authorization: SECRET }), 401);
      }
      assert.equal(judged(SECRET, port, { authorization }), '/v1/routes');
      assert.equal(judged(SECRET, port, { authorization, target: '/nothing' }), 404);
    }
  });

  test('keeps web pages and names out without a secret, which a unix socket needs not', () => {
    for (const [head, rejected] of [
      [{}, '/v1/routes'],
      [{ host: 'localhost:9090', origin: 'http://localhost:9090' }, '/v1/routes'],
      [{ host: 'weir.example:9090' }, 421],
      // Browsers always send it.
      [{ host: undefined }, '/v1/routes'],
      [{ target: 'http://weir.example/v1/routes' }, 421],
      [{ origin: 'https://page.example' }, 403],
      [{ origin: 'null' }, 403],
      [{ host: 'weir.example:9090', target: '/nothing' }, 421],
    ] as const) {
      assert.equal(judged(undefined, 9090, head), rejected, JSON.stringify(head));
      const target = 'target' in head && head.target === '/nothing' ? 404 : '/v1/routes';
      assert.equal(judged(undefined, undefined, head), target);
      assert.equal(judged(SECRET, 9090, { ...head, authorization: `Bearer ${SECRET}` }), target);
    }
  });

  test('names the methods of a path, and takes the path of a whole URL', () => {
    const filter = new RequestFilter(new ApiOptions(LISTEN, undefined), undefined);
    const wrong = filter.judge({ ...plain, method: 'POST', target: '/v1/connections' });
    assert.ok(wrong.kind === 'response');
    assert.deepEqual(
      [wrong.response.status, wrong.response.headers],
      [405, { Allow: 'GET,HEAD,DELETE' }],
    );
    const found = filter.judge({
      ...plain,
      method: 'PUT',
      target: 'http://127.0.0.1:9090/v1/routes/a%20b?x=1',
    });
    assert.ok(found.kind === 'call');
    assert.deepEqual({ ...found.parameters }, { group: 'a%20b' });
    assert.equal(found.query, 'x=1');
    assert.equal(judged(undefined, undefined, { target: '/v1/routes/' }), 404);
  });
});

describe('bearer tokens', () => {
  test('only the secret passes', () => {
    const check = bearerCheck('sesame');
    assert.ok(check('Bearer sesame'));
    for (const text of [
      '',
      'Bearers sesame',
      'Bearer:sesame',
      'bearer\tsesame',
      'Token sesame',
      'Bearer sesame\xa0',
      'Bearer sesame \x80',
    ]) {
      assert.ok(!check(text), text);
    }
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
        assert.equal(
          check(`Bearer ${text}`),
          text.trim() === 'sesame' && !/[^\t\x20-\x7e]/.test(text),
        );
      }),
    );
  });

  test('a secret with space around it can never be presented', () => {
    assert.equal(bearerCheck(' x ')('Bearer  x '), false);
  });
});

describe('web pages', () => {
  const place = addressPlace(9090);
  const namesThisHost = (authority: string | undefined): boolean =>
    rejectionOf({ authority, origin: undefined, fetchSite: undefined }, place) === undefined;

  test('a host is this one when it is an address or localhost', () => {
    for (const authority of [
      undefined,
      '',
      'localhost',
      'LocalHost:1',
      '127.0.0.1:9090',
      '[::1]',
      '[fe80::1]:80',
    ]) {
      assert.ok(namesThisHost(authority), String(authority));
    }
    for (const authority of [
      'a',
      'localhost.',
      'evil.localhost',
      '[::g]',
      '1.2.3',
      'a:b:c',
      '127.0.0.1.evil.example',
      '::1',
    ]) {
      assert.ok(!namesThisHost(authority), authority);
    }
  });

  test('an origin is its own when host and port are', () => {
    const own = (origin: string, authority = '127.0.0.1:9090'): boolean =>
      place.isOwnOrigin(origin, authority);
    for (const origin of [
      'http://127.0.0.1:9090',
      'http://localhost:9090',
      'HTTP://LOCALHOST:9090',
      'http://[::1]:9090',
      'http://127.9.9.9:9090',
    ]) {
      assert.ok(own(origin), origin);
    }
    assert.ok(addressPlace(80).isOwnOrigin('http://localhost', 'localhost'));
    for (const origin of [
      'null',
      '',
      'http://localhost',
      'https://localhost:9090',
      'http://localhost:9091',
      'http://10.0.0.1:9090',
      'http://evil.example:9090',
      'http://localhost:9090/',
      'localhost:9090',
    ]) {
      assert.ok(!own(origin), origin);
    }
    assert.ok(own('http://10.0.0.1:9090', '10.0.0.1:9090'));
  });
});

describe('heads that the parser does not take', () => {
  test('are read around the place where it gave up', () => {
    const text =
      'x\r\nBREW /pot HTTP/1.1\r\nHost: a\r\nHOST: b\r\nAuthorization:  Bearer x \r\n\r\nrest';
    assert.deepEqual(parseHead(Buffer.from(text), 5), {
      method: 'BREW',
      target: '/pot',
      host: 'a',
      origin: undefined,
      fetchSite: undefined,
      authorization: 'Bearer x',
    });
    assert.equal(parseHead(Buffer.from(text), 0), undefined);
  });

  test('may have any bytes in their target, so that a missing token is noticed', () => {
    for (const target of ['/\x01', '/\x7f', '/\xff']) {
      const head = parseHead(Buffer.from(`B ${target} HTTP/1.1\r\n\r\n`, 'latin1'), 0);
      assert.equal(head?.target, target);
    }
  });

  test('are nothing when they are not complete or not well-formed', () => {
    for (const text of [
      'BREW / HTTP/1.1\r\n',
      'BREW / HTTP/2\r\n\r\n',
      'BREW /\r\n\r\n',
      'B / HTTP/1.1\r\nx y: z\r\n\r\n',
      'B / HTTP/1.1\r\n a: b\r\n\r\n',
      '\r\n\r\n',
      'B  / HTTP/1.1\r\n\r\n',
    ]) {
      assert.equal(parseHead(Buffer.from(text), 0), undefined, text);
    }
  });
});
