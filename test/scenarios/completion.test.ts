import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { COMMANDS } from '../../src/cli/commands.ts';
import { CTL } from '../../src/cli/ctl-arguments.ts';
import { runWeir, scratch } from '../support/weir.ts';

/** How a shell is asked what completes the last of the words `$@`, given the script as FILE. */
const SHELLS = {
  bash: {
    args: ['--norc', '-c'],
    script: `source FILE; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _weir
      printf '%s\\n' "\${COMPREPLY[@]}"`,
  },
  // zsh completes on a terminal only: what the script calls says what it found.
  zsh: {
    args: ['-f', '-c'],
    script: `compdef() { : }; _describe() { print -rl -- "\${(@P)2}" }; compadd() { print -rl -- "$@" }
      _files() { print -rl -- $words[CURRENT]*(N) }
      source FILE; words=("$@"); CURRENT=$#; _weir`,
  },
  fish: {
    args: ['--no-config', '-c'],
    script: `source FILE; complete -C "$(string join ' ' -- $argv)"`,
  },
};

for (const [shell, { args, script }] of Object.entries(SHELLS)) {
  const missing = spawnSync(shell, ['--version']).error && `there is no ${shell} here`;
  suite(`the completion of ${shell}`, { skip: missing ?? false }, () => {
    /** The words that complete the last one, in order. */
    async function complete(...words: string[]): Promise<string[]> {
      await using folder = await scratch();
      const file = join(folder.path, 'script');
      writeFileSync(file, (await runWeir(['completion', shell])).stdout);
      for (const name of ['one.toml', 'other.toml']) writeFileSync(join(folder.path, name), '');
      // fish has its arguments behind `-c`, the others the name of the shell first.
      const name = shell === 'fish' ? [] : [shell];
      const call = [...args, script.replace('FILE', file), ...name, 'weir', ...words];
      const { stdout, stderr } = spawnSync(shell, call, { cwd: folder.path, encoding: 'utf8' });
      assert.equal(stderr, '');
      const lines = stdout.split('\n').filter((line) => line !== '');
      return lines.map((line) => line.replace(/[\t:].*/, '')).toSorted();
    }

    test('gives the commands, and those of ctl', async () => {
      assert.deepEqual(await complete(''), COMMANDS.map((command) => command.name).toSorted());
      assert.deepEqual(await complete('ctl', ''), CTL.commands.map(({ name }) => name).toSorted());
      assert.ok((await complete('ctl', 'rel')).includes('reload'));
    });

    test('gives the options of a command, and below ctl those of both', async () => {
      for (const words of [['--'], ['run', '--'], ['--watch', '--']]) {
        const options = await complete(...words);
        assert.ok(options.includes('--config') && options.includes('--test'), options.join(' '));
      }
      const options = await complete('ctl', '--json', 'close', '--');
      assert.ok(options.includes('--api') && options.includes('--outbound'), options.join(' '));
      assert.equal(options.includes('--if-match'), false);
    });

    test('gives the names of files behind an option for one', async () => {
      for (const words of [
        ['--config', 'o'],
        ['run', '-c', 'o'],
        ['reload', 'o'],
      ]) {
        assert.deepEqual(await complete(...words), ['one.toml', 'other.toml'], words.join(' '));
      }
    });

    test('gives the choices of an operand, and nothing for a value that it cannot know', async () => {
      assert.deepEqual(await complete('completion', ''), ['bash', 'fish', 'zsh']);
      assert.deepEqual(await complete('ctl', 'close', '--user', ''), []);
    });

    test('takes the value of an option for no command', async () => {
      assert.ok((await complete('--config', 'ctl', '')).includes('run'));
    });
  });
}

test('another shell is refused', async () => {
  const child = await runWeir(['completion', 'tcsh']);
  assert.equal(child.ended?.code, 2);
  assert.match(child.stderr, /^weir: no completion for "tcsh"\n/);
  assert.equal((await runWeir(['completion'])).ended?.code, 2);
});
