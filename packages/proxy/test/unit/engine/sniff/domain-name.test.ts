import assert from 'node:assert/strict';
import { test } from 'node:test';
import { domainName } from '../../../../src/engine/sniff.ts';

const names: [string, string][] = [
  ['example.com', 'example.com'],
  ['EXAMPLE.Com', 'example.com'],
  ['example.com.', 'example.com'],
  ['localhost', 'localhost'],
  ['_dmarc.a--b.example', '_dmarc.a--b.example'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ['1.2.3.4.example', '1.2.3.4.example'],
  [`${'a'.repeat(63)}.b`, `${'a'.repeat(63)}.b`],
];
for (const [text, name] of names) {
  test(`${text} is the name ${name}`, () => assert.equal(domainName(text), name));
}

const others: [string, string][] = [
  ['', 'nothing'],
  ['.', 'the root'],
  ['a..b', 'an empty label'],
  ['.a', 'a leading dot'],
  ['a.b..', 'two trailing dots'],
  ['1.2.3.4', 'an IPv4 address'],
  ['127.1', 'a short IPv4 address'],
  ['2130706433', 'an IPv4 address as one number'],
  ['::1', 'an IPv6 address'],
  ['[::1]', 'an IPv6 address in brackets'],
  ['a b.example', 'a space'],
  ['bücher.example', 'a letter beyond ASCII'],
  ['\u212a.example', 'the Kelvin sign, whose lower case is an ASCII letter'],
  ['a\0.example', 'a zero byte'],
  [`${'a'.repeat(64)}.b`, 'a label of 64 letters'],
  [`${'a.'.repeat(126)}ab`, 'a name of 254 letters'],
];
for (const [text, what] of others) {
  test(`${what} is no domain name`, () => assert.equal(domainName(text), undefined));
}
