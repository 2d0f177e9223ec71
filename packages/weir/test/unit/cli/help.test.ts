import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '@weir/base';
import { CapturedIo } from '../../../../../test/support/process/captured-io.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';

/** Columns of a help text, so that a terminal does not break its lines. */
const MOST_COLUMNS = 100;

/** They print the general text to the standard output of the process. */
const GENERAL = new Set(['run', 'check', 'version', 'help']);

test('the help of a command has its usage, and no long lines', async () => {
  for (const command of COMMANDS) {
    if (GENERAL.has(command.name)) continue;
    const io = new CapturedIo();
    assert.equal(await command.run(['--help'], io), 0, command.name);
    assert.match(io.out, new RegExp(`^Usage: weir ${command.name}\\b`, 'm'));
    const long = io.out.split('\n').filter((line) => line.length > MOST_COLUMNS);
    assert.deepEqual(long, [], command.name);
  }
});

test('an empty path is refused by every command, and named', async () => {
  for (const command of COMMANDS) {
    const places = [{ ...command, name: undefined }, ...(command.commands ?? [])];
    for (const place of places) {
      for (const [option, { value = '' }] of Object.entries(place.options)) {
        if (!['FILE', 'FOLDER', 'PATH'].includes(value)) continue;
        const line = [...(place.name === undefined ? [] : [place.name]), `--${option}=`];
        await assert.rejects(
          command.run(line, new CapturedIo()),
          (error) => error instanceof UsageError && error.message.startsWith(`--${option} needs `),
          `${command.name} ${line.join(' ')}`,
        );
      }
    }
  }
});
