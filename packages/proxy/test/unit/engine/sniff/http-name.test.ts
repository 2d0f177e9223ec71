import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sniffDomain } from '../../../../src/engine/sniff.ts';

const sniffText = (text: string) => sniffDomain(Buffer.from(text, 'latin1'));
const found = (domain: string | undefined) => ({ done: true, domain });
const MORE = { done: false };

const REQUESTS: [string, string, string | undefined][] = [
  ['a plain request', 'GET / HTTP/1.1\r\nHost: Example.com\r\n', 'example.com'],
  ['a port', 'GET / HTTP/1.1\r\nHost: example.com:8080\r\n', 'example.com'],
  ['an empty port', 'GET / HTTP/1.1\r\nHost: example.com:\r\n', 'example.com'],
  ['Host after other fields', 'POST /a?b HTTP/1.0\r\nA: b\r\nhOST:example.com\r\n', 'example.com'],
  ['space around the value', 'GET / HTTP/1.1\r\nHost: \t example.com \t\r\n', 'example.com'],
  ['bare line feeds', 'GET / HTTP/1.1\nHost: example.com\n', 'example.com'],
  ['a bare line feed before CR LF', 'GET / HTTP/1.1\nHost: example.com\n\r\n', 'example.com'],
  ['a method with a hyphen', 'M-SEARCH * HTTP/1.1\r\nHost: example.com\r\n', 'example.com'],
  ['several spaces', 'GET  /  HTTP/1.1\r\nHost: example.com\r\n', 'example.com'],
  ['raw UTF-8 in the target', 'GET /\xc3\xbc HTTP/1.1\r\nHost: example.com\r\n', 'example.com'],
  ['a folded field before Host', 'GET / HTTP/1.1\r\nA: b\r\n c\r\nHost: a.b\r\n', 'a.b'],
  ['the absolute form', 'GET http://a.example/x HTTP/1.1\r\n', 'a.example'],
  [
    'the absolute form before Host',
    'GET HTTP://u:p@a.example:1 HTTP/1.1\r\nHost: b.c\r\n',
    'a.example',
  ],
  ['CONNECT', 'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n', 'a.example'],
  ['a dot at the end', 'GET / HTTP/1.1\r\nHost: example.com.\r\n', 'example.com'],
  ['an IPv4 address', 'GET / HTTP/1.1\r\nHost: 192.0.2.1:80\r\n', undefined],
  ['an IPv6 address', 'GET / HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n', undefined],
  ['an empty Host', 'GET / HTTP/1.1\r\nHost:\r\n', undefined],
  ['no Host', 'GET / HTTP/1.0\r\n\r\n', undefined],
  ['Host in the body', 'POST / HTTP/1.1\r\nA: b\r\n\r\nHost: a.b\r\n', undefined],
  ['a line that is no field', 'GET / HTTP/1.1\r\nnonsense\r\nHost: a.b\r\n', undefined],
  ['a field without a name', 'GET / HTTP/1.1\r\n: b\r\nHost: a.b\r\n', undefined],
  ['a port that is no number', 'GET / HTTP/1.1\r\nHost: a.b:8x\r\n', undefined],
  ['a space before the colon', 'GET / HTTP/1.1\r\nHost : a.b\r\n\r\n', undefined],
];
for (const [what, text, domain] of REQUESTS) {
  test(`a request with ${what} has ${domain ?? 'no name'}`, () => {
    assert.deepEqual(sniffText(text), found(domain));
  });
}

test('an unfinished request asks for more', () => {
  const head = 'GET http://a.example/x HTTP/1.1\r';
  for (let length = 0; length <= head.length; length++) {
    assert.deepEqual(sniffText(head.slice(0, length)), MORE, head.slice(0, length));
  }
  assert.deepEqual(sniffText('GET / HTTP/1.1\r\nA: b\r\nHost: example.co'), MORE);
  for (const text of ['AZ', 'GET / HTTP/1.0', 'GET / HTTP/1.9']) {
    assert.deepEqual(sniffText(text), MORE, text);
  }
});

test('bytes that cannot begin a request are ruled out at the first wrong one', () => {
  const wrong = [
    '\0',
    ' ',
    '\r',
    '1',
    '-',
    'SSH-2',
    'PING\r',
    'g',
    'GEt',
    'GET k',
    'GET /\x01',
    'GET /\x7f',
    'GET http:/ ',
    'GET / F',
    'GET / HTTP/2',
    'PRI * HTTP/2',
    'GET / HTTP/1.1x',
    'GET / HTTP/1./',
    'GET / HTTP/1.:',
    'GET / HTTP/1.1\r\r',
    'GET / HTTP/1.\n',
    'GET / \r',
    'GET / \n',
    'A'.repeat(21),
  ];
  for (const text of wrong) {
    assert.deepEqual(sniffText(text), found(undefined), text);
    if (text.length > 1) assert.deepEqual(sniffText(text.slice(0, -1)), MORE, text.slice(0, -1));
  }
});
