import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFlow } from '../../../src/explain/flow.ts';

test('a URL stands for its host and port', () => {
  const cases: readonly (readonly [string, string, number])[] = [
    ['http://foo.example/bar', 'foo.example', 80],
    ['HTTPS://Foo.Example', 'foo.example', 443],
    ['https://foo.example:8443/a:1?b=c://d#e', 'foo.example', 8443],
    ['https://foo.example:/a', 'foo.example', 443],
    ['https://foo.example?x@y:1', 'foo.example', 443],
    ['wss://user:p@ss@foo.example/ws', 'foo.example', 443],
    ['http://[2001:db8::1]/', '2001:db8::1', 80],
    ['http://[2001:db8::1]:8080', '2001:db8::1', 8080],
    ['https://bücher.example/', 'xn--bcher-kva.example', 443],
    ['ssh://git@foo.example:22/repo', 'foo.example', 22],
    ['foo.example:443', 'foo.example', 443],
    ['[2001:db8::1]:443', '2001:db8::1', 443],
  ];
  for (const [text, host, port] of cases) {
    assert.deepEqual(parseFlow(text, {}).destination, { host, port }, text);
  }
});

test('a URL without a host, or without a port that is known, is refused, and its secrets are not shown', () => {
  for (const [text, message] of [
    ['ssh://foo.example/', /^a URL of ssh:\/\/ needs a port$/],
    ['https:///path', /^":443" is not HOST:PORT/],
    ['https://foo.example:99999/', /^"foo\.example:99999" is not HOST:PORT/],
    ['https://2001:db8::1/', /is not HOST:PORT/],
    ['https://ann:secret@/?token=secret', /^":443" is not HOST:PORT/],
  ] as const) {
    assert.throws(
      () => parseFlow(text, {}),
      (error: Error) => {
        assert.match(error.message, message, text);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      },
    );
  }
});
