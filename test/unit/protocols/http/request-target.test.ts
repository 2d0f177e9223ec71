import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MessageError } from '../../../../src/http/http1/message-error.ts';
import { parseHost, parseRequestTarget } from '../../../../src/protocols/http/request-target.ts';

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
    ['GET', 'http://user@example.com/'],
    ['GET', 'http://user:pass@example.com/'],
    ['GET', 'http://example.com\\@evil.example/'],
    ['GET', 'http://example.com/#fragment'],
    ['GET', '/path#fragment'],
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
    ['CONNECT', 'http://example.com:443'],
    ['CONNECT', 'example.com:443/'],
    ['CONNECT', '/'],
  ];
  for (const [method, text] of refused) {
    test(`${method} ${text.slice(0, 60)} is rejected`, () => {
      assert.throws(
        () => parseRequestTarget(method, text),
        (error) => error instanceof MessageError && error.status === 400,
      );
    });
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
