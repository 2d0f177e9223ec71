import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { findRunning } from '@weir/client/running';
import {
  collectDiagnosis,
  archiveName,
  archiveOf,
  writeArchive,
} from '@weir/watch/diagnose/collect-diagnosis';
import { contentsText, PART_NAMES } from '@weir/watch/diagnose/diagnosis';
import { UsageError, WeirError } from '@weir/base';
import { loadConfigFile } from '@weir/server/loading';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import { printable } from '@weir/base/printable';
import { bytes } from '@weir/base/text/amounts';
import { commandOf, type CommandIo, optionLines, parserOf } from '../command.ts';
import { checkTun, tunCheckText, unreadText } from '../tun/command.ts';
import { DIAGNOSE, STANDARD_SECONDS, MAX_SECONDS } from './specs.ts';
import { choiceOf, parseCount } from '../option-values.ts';

const DIAGNOSE_HELP = `weir diagnose, which writes an archive to attach to a report

Usage: weir diagnose [options]

Collects the state of a running Weir, its versions, its configuration with secrets starred, the end
of its log, ten seconds of a processor profile and a summary of its memory. Says what is inside and
how large it is, and asks before it writes. What cannot be had is listed as missing. Nothing is sent
anywhere.

Options:
${optionLines(DIAGNOSE.options)}`;

const parseDiagnose = parserOf(DIAGNOSE, (values) => {
  const { output, config, socket, without = [], busy = false, yes = false } = values;
  return {
    output,
    config,
    socket,
    without: new Set(without.map((part) => choiceOf('without', PART_NAMES, part))),
    seconds: parseCount('--seconds', values.seconds ?? STANDARD_SECONDS, MAX_SECONDS),
    busy,
    yes,
  };
});

/**
 * `weir diagnose`. Resolves with the exit status: 1 if nothing was written.
 * @throws {UsageError}
 */
export const diagnoseCommand = commandOf(
  DIAGNOSE.name,
  DIAGNOSE_HELP,
  parseDiagnose,
  async (parsed, io) => {
    const canAsk = process.stdin.isTTY && io.stdout.isTTY === true;
    if (!parsed.yes && !canAsk) {
      throw new UsageError('without a terminal to ask on, diagnose writes nothing; add --yes');
    }
    const { output, without, seconds, busy, yes } = parsed;
    if (output !== undefined) refuseExisting(output);
    const { env } = io;
    const { socket, config } = await findRunning({ ...parsed, env });
    const diagnosis = await collectDiagnosis({
      socket,
      config,
      without,
      seconds,
      busy,
      env,
      tunCheck: (path) => tunCheckOf(path, env),
      onRecording: () =>
        void io.stderr.write(`recording what the processor does, for ${seconds} s\n`),
    });
    const archive = await archiveOf(diagnosis);
    const path = output ?? `${archiveName(diagnosis.at)}.tar.gz`;
    const question = `Write these ${bytes(archive.length)} to ${printable(path)}?`;
    io.stdout.write(`${contentsText(diagnosis)}\n`);
    if (!yes && !(await isConfirmed(question, io))) {
      io.stdout.write('nothing was written\n');
      return 1;
    }
    await writeArchive(path, archive);
    io.stdout.write(`${printable(path)}: ${bytes(archive.length)}, readable by you alone\n`);
    return 0;
  },
);

/** Checks the path before ten seconds are spent. @throws {WeirError} if the file exists */
function refuseExisting(path: string): void {
  if (existsSync(path)) throw new WeirError('output', `${path} exists already`);
}

async function isConfirmed(question: string, { stdout }: CommandIo): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: stdout });
  const ended = Promise.withResolvers<string>();
  // Ctrl-D and Ctrl-C.
  terminal.once('close', () => ended.resolve(''));
  try {
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), ended.promise]);
    return /^y(?:es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}

/** The output of `weir tun check` for a configuration. @throws {ConfigError} @throws {WeirError} */
async function tunCheckOf(
  path: string | undefined,
  env: CommandIo['env'],
): Promise<string | undefined> {
  const { spec } = await loadConfigFile(path, { files: new FileDigests(), serveApi: false });
  if (!spec.inbounds.some(({ protocol }) => protocol === 'tun')) return undefined;
  const report = await checkTun(spec, false, env);
  return `${tunCheckText(report)}${unreadText(report.unread)}`;
}
