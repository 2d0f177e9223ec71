import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DecodeError } from '@weir/proxy/schema';
import { type ApiOptions, apiTable, DEFAULT_API_LISTEN, lowerApi } from '../../src/api.ts';
import { Finding } from '../../src/findings.ts';
import { parseToml } from '../../src/toml/parse.ts';

/** Keys of `[api]` as TOML. */
const read = (toml: string): ApiOptions => lowerApi(apiTable(parseToml(toml)));

const refusal = (toml: string): string => {
  try {
    read(toml);
  } catch (error) {
    assert.ok(error instanceof Finding);
    return error.message;
  }
  return 'accepted';
};

describe('[api]', () => {
  test('with nothing in it listens on the default address without a secret', () => {
    const options = read('');
    assert.equal(options.listen.text, DEFAULT_API_LISTEN);
    assert.deepEqual(options.listen, {
      kind: 'tcp',
      host: '127.0.0.1',
      port: 9090,
      text: '127.0.0.1:9090',
    });
    assert.equal(options.secret, undefined);
  });

  test('takes an address in brackets, any port, and a path with a slash', () => {
    for (const [listen, expected] of [
      ['127.0.0.1:0', { kind: 'tcp', host: '127.0.0.1', port: 0 }],
      ['127.255.0.9:65535', { kind: 'tcp', host: '127.255.0.9', port: 65_535 }],
      ['[::1]:9090', { kind: 'tcp', host: '::1', port: 9090 }],
      ['[0:0:0:0:0:0:0:1]:1', { kind: 'tcp', host: '0:0:0:0:0:0:0:1', port: 1 }],
      ['127.0.0.1:00080', { kind: 'tcp', host: '127.0.0.1', port: 80 }],
      ['/run/weir.sock', { kind: 'unix', path: '/run/weir.sock' }],
      ['./weir.sock', { kind: 'unix', path: './weir.sock' }],
      ['run/weir.sock', { kind: 'unix', path: 'run/weir.sock' }],
      ['127.0.0.1:9090/x', { kind: 'unix', path: '127.0.0.1:9090/x' }],
    ] as const) {
      assert.deepEqual(read(`listen = "${listen}"`).listen, { ...expected, text: listen });
    }
  });

  test('refuses what is neither', () => {
    for (const listen of [
      '',
      ' ',
      'localhost:9090',
      'weir.example:9090',
      'weir.sock',
      '9090',
      ':9090',
      '127.0.0.1',
      '127.0.0.1:',
      '127.0.0.1:x',
      '127.0.0.1:-1',
      '127.0.0.1:65536',
      '127.0.0.1: 80',
      ' 127.0.0.1:80',
      '127.0.0.1:80 ',
      '127.1:80',
      '127.0.0.01:80',
      '256.0.0.1:80',
      '::1:9090',
      '[::1]',
      '[::1]9090',
      '[127.0.0.1]:9090',
      '[fe80::1%eth0]:9090',
      '*:9090',
      '@weir',
    ]) {
      const expected = `[api] listen "${listen}": expected ip:port, or a path (containing a /) for a unix socket`;
      assert.equal(refusal(`listen = '${listen}'`), expected);
    }
  });

  test('refuses an empty secret, wherever it listens', () => {
    for (const listen of ['127.0.0.1:0', '0.0.0.0:0', '/run/weir.sock']) {
      assert.equal(refusal(`listen = "${listen}"\nsecret = ""`), '[api] secret is empty');
    }
    assert.equal(refusal('secret = " "'), 'accepted');
  });

  test('needs a secret where other hosts can reach it', () => {
    for (const listen of [
      '0.0.0.0:9090',
      '[::]:9090',
      '10.0.0.1:9090',
      '128.0.0.1:9090',
      '[::ffff:127.0.0.1]:9090',
      '[::127.0.0.1]:9090',
      '[::2]:9090',
      '[fe80::1%2]:9090',
    ]) {
      assert.equal(
        refusal(`listen = "${listen}"`),
        `[api] listen ${listen}: an API reachable from other hosts needs a secret; listen on a loopback address or a unix socket, or set one`,
      );
      assert.equal(refusal(`listen = "${listen}"\nsecret = "x"`), 'accepted');
    }
  });

  test('refuses unknown keys and wrong types where they stand', () => {
    for (const [toml, message] of [
      ['token = "x"', 'unknown field `token`, expected `listen` or `secret`'],
      ['listen = 9090', 'invalid type: integer `9090`, expected a string'],
      ['secret = 12345', 'invalid type: integer, expected a string'],
    ] as const) {
      assert.throws(
        () => read(toml),
        (error: unknown) => error instanceof DecodeError && error.message === message,
      );
    }
  });

  test('names the place of what it refuses', () => {
    assert.throws(
      () => read('secret = "x"\nlisten = "nowhere"'),
      (error: unknown) => error instanceof Finding && error.span?.start === 22,
    );
  });

  test('is the same as another with the same keys only', () => {
    assert.ok(read('').equals(read('listen = "127.0.0.1:9090"')));
    assert.ok(read('secret = "a"').equals(read('secret = "a"')));
    assert.ok(!read('secret = "a"').equals(read('secret = "b"')));
    assert.ok(!read('secret = "a"').equals(read('')));
    assert.ok(!read('').equals(read('listen = "127.0.0.1:9091"')));
    assert.ok(!read('').equals(undefined));
  });
});
