import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { commandLine } from '../../../src/text/command-line.ts';

const NAMES = [
  'tokyo',
  'Tokyo 1',
  '',
  '-rf',
  '$(echo run)`echo run`',
  `'; echo run; '`,
  '\u202eevil',
  '\u001b[31m$(echo run)',
  // Made to end a word of $'…' where that form is not known.
  `\u202e'; echo run #`,
  `\u202e\\'; echo run; \\'`,
  'line\necho run\r',
  '\u{1f600}\u{e0041}',
];

/** What a shell passes to a program. */
const wordsOf = (shell: string, line: string): readonly string[] =>
  execFileSync(shell, ['-c', `printf '%s\\0' ${line}`], {
    encoding: 'utf8',
    env: { LC_ALL: 'C.UTF-8', PATH: process.env['PATH'] },
    // With a socket in its place, which is what Node gives, bash reads the user's ~/.bashrc as under rshd.
    stdio: ['ignore', 'pipe', 'inherit'],
  })
    .split('\0')
    .slice(0, -1);

describe('a command line to be copied', () => {
  for (const name of NAMES) {
    test(`${JSON.stringify(name)} is one word, as it is, in bash`, () => {
      assert.deepEqual(wordsOf('bash', commandLine([name, 'end'])), [name, 'end']);
    });

    test(`${JSON.stringify(name)} is one word in any shell`, () => {
      assert.equal(wordsOf('sh', commandLine([name, 'end'])).length, 2);
    });
  }

  test('nothing in it is unseen', () => {
    assert.doesNotMatch(commandLine(NAMES), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
  });
});
