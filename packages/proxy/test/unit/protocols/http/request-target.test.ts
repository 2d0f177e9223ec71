import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MessageError } from '@weir/http/http1';
import {
  parseHost,
  parseRequestTarget,
  shownTarget,
} from '../../../../src/protocols/http/request-target.ts';

describe('a request target', () => {
  const absolute: readonly (readonly [string, string, number, string, string])[] = [
    ['http://example.com/', 'example.com', 80, 'example.com', '/'],
    ['http://example.com', 'example.com', 80, 'example.com', '/'],
    ['HTTP://Example.COM/a?b=c', 'Example.COM', 80, 'Example.COM', '/a?b=c'],
    ['http://example.com:8080/a', 'example.com', 8080, 'example.com:8080', '/a'],
    ['http://example.com:80/', 'example.com', 80, 'example.com:80', '/'],
    ['http://example.com:/', 'example.com', 80, 'example.com', '/'],
    ['http://example.com?q', 'example.com', 80, 'example.com', '/?q'],
    ['http://a_b.example/x//y', 'a_b.example', 80, 'a_b.example', '/x//y'],
    ['http://[2001:db8::1]:81/', '2001:db8::1', 81, '[2001:db8::1]:81', '/'],
    ['http://[::1]', '::1', 80, '[::1]', '/'],
    ['https://example.com/x', 'example.com', 443, 'example.com', '/x'],
    ['http://example.com:1/', 'example.com', 1, 'example.com:1', '/'],
    ['http://example.com:65535/', 'example.com', 65_535, 'example.com:65535', '/'],
    ['http://192.0.2.1/http://b/', '192.0.2.1', 80, '192.0.2.1', '/http://b/'],
    ['ws://example.com/chat', 'example.com', 80, 'example.com', '/chat'],
    ['WSS://example.com/chat', 'example.com', 443, 'example.com', '/chat'],
    ['wss://example.com:8443', 'example.com', 8443, 'example.com:8443', '/'],
    // User information and fragments, which clients send and which end here.
    ['http://user@example.com/', 'example.com', 80, 'example.com', '/'],
    ['http://user:pass@example.com:81/a', 'example.com', 81, 'example.com:81', '/a'],
    ['http://b.example:80@example.com/', 'example.com', 80, 'example.com', '/'],
    ['http://@example.com/', 'example.com', 80, 'example.com', '/'],
    ['http://:@[::1]:81/', '::1', 81, '[::1]:81', '/'],
    ['http://us%40er:p%3A%23@example.com/', 'example.com', 80, 'example.com', '/'],
    ['http://\xfcser:p[|"<>^`{}@example.com/', 'example.com', 80, 'example.com', '/'],
    ['ws://user:pass@example.com/#a', 'example.com', 80, 'example.com', '/'],
    ['http://example.com/#fragment', 'example.com', 80, 'example.com', '/'],
    ['http://example.com#', 'example.com', 80, 'example.com', '/'],
    ['http://example.com?a#b?c', 'example.com', 80, 'example.com', '/?a'],
    ['http://example.com/a#@b.example/', 'example.com', 80, 'example.com', '/a'],
    ['http://example.com/@b.example/', 'example.com', 80, 'example.com', '/@b.example/'],
    ['http://example.com?@b.example/', 'example.com', 80, 'example.com', '/?@b.example/'],
  ];
  for (const [text, host, port, authority, path] of absolute) {
    test(`${text} leads to ${host} ${port}`, () => {
      assert.deepEqual(parseRequestTarget('GET', text), {
        form: 'absolute',
        destination: { host, port },
        authority,
        path,
      });
    });
  }

  test('may have a host of 255 characters', () => {
    const host = 'a'.repeat(255);
    assert.deepEqual(parseRequestTarget('CONNECT', `${host}:443`), {
      form: 'authority',
      destination: { host, port: 443 },
    });
  });

  test('OPTIONS without a path concerns the whole server', () => {
    const target = parseRequestTarget('OPTIONS', 'http://a.example');
    assert.equal(target.form === 'absolute' && target.path, '*');
    assert.deepEqual(parseRequestTarget('OPTIONS', '*'), { form: 'origin', path: '*' });
  });

  test('of a CONNECT is a host and a port', () => {
    assert.deepEqual(parseRequestTarget('CONNECT', 'example.com:443'), {
      form: 'authority',
      destination: { host: 'example.com', port: 443 },
    });
    assert.deepEqual(parseRequestTarget('CONNECT', '[::1]:22'), {
      form: 'authority',
      destination: { host: '::1', port: 22 },
    });
  });

  test('that begins with a slash names no host', () => {
    assert.deepEqual(parseRequestTarget('GET', '//a/b'), { form: 'origin', path: '//a/b' });
    assert.deepEqual(parseRequestTarget('GET', '/a?b#c'), { form: 'origin', path: '/a?b' });
  });

  const refused: readonly (readonly [string, string])[] = [
    ['GET', 'example.com:80'],
    ['GET', 'example.com'],
    ['GET', '*'],
    ['GET', 'ftp://example.com/'],
    ['GET', 'ftp://example.com:21/'],
    ['GET', '1http://example.com/'],
    ['GET', 'http:/example.com/'],
    ['GET', 'http:///path'],
    ['GET', 'http://a@b@example.com/'],
    ['GET', 'http://a@@example.com/'],
    ['GET', 'http://example.com\\@evil.example/'],
    ['GET', 'http://user:pass@/'],
    ['GET', 'http://user@:80/'],
    ['GET', 'http://user@example.com\\/'],
    ['GET', 'http://user:pass#@example.com/'],
    ['GET', 'http://#example.com/'],
    ['GET', 'wsx://example.com/'],
    ['OPTIONS', '*#'],
    ['GET', 'http://example.com:0/'],
    ['GET', 'http://example.com:65536/'],
    ['GET', 'http://example.com:080000/'],
    ['GET', 'http://example.com:000080/'],
    ['GET', 'http://example.com:8o/'],
    ['GET', 'http://example.com:80:80/'],
    ['GET', 'http://exa%6dple.com/'],
    ['GET', 'http://ex\xe4mple.com/'],
    ['GET', 'http://a,b/'],
    ['GET', 'http://::1/'],
    ['GET', 'http://[::1/'],
    ['GET', 'http://[::1]x/'],
    ['GET', 'http://[fe80::1%25eth0]/'],
    ['GET', 'http://[example.com]/'],
    ['GET', 'http://[192.0.2.1]/'],
    ['GET', 'http://[a:b]/'],
    ['GET', `http://${'a'.repeat(256)}/`],
    ['CONNECT', 'example.com'],
    ['CONNECT', 'example.com:'],
    ['CONNECT', 'example.com:0'],
    ['CONNECT', 'example.com:99999'],
    ['CONNECT', ':443'],
    ['CONNECT', '::1:443'],
    ['CONNECT', 'user@example.com:443'],
    ['CONNECT', 'user:pass@example.com:443'],
    ['CONNECT', 'example.com:443#a'],
    ['CONNECT', 'http://example.com:443'],
    ['CONNECT', 'example.com:443/'],
    ['CONNECT', '/'],
  ];
  for (const [method, text] of refused) {
    test(`${method} ${text.slice(0, 60)} is rejected`, () => {
      assert.throws(
        () => parseRequestTarget(method, text),
        (error) =>
          error instanceof MessageError &&
          error.status === 400 &&
          !/pass|user@/.test(error.message),
      );
    });
  }
});

test('a target is shown without its user information', () => {
  for (const [target, shown] of [
    ['http://user:pass@a.example/x', 'http://a.example/x'],
    ['http://a@b@a.example/', 'http://b@a.example/'],
    ['http://a.example/x@y', 'http://a.example/x@y'],
    ['/x@y', '/x@y'],
    ['a.example:443', 'a.example:443'],
  ] as const) {
    assert.equal(shownTarget(target), shown);
  }
});

describe('a Host value', () => {
  test('is a host with port 80, or with its own', () => {
    assert.deepEqual(parseHost('a.example'), {
      destination: { host: 'a.example', port: 80 },
      authority: 'a.example',
    });
    assert.equal(parseHost('[::1]:81').destination.port, 81);
  });

  test('is rejected when it is invalid', () => {
    for (const value of ['', ':80', 'a b', 'a/b', 'a, b', 'u@a', 'http://a', '::1', 'a:x']) {
      assert.throws(() => parseHost(value), MessageError, value);
    }
  });
});
