import { startClashApi, type ServedClashApi } from '@weir/watch/clash-api';
import { readSecret } from '@weir/client/api';
import { findRunning, type RunningWeir } from '@weir/client/running';
import { UsageError, WeirError } from '@weir/base';
import { parseLocalListen, defectText, newToken } from '@weir/server/local-http';
import { RunningMonitor } from '@weir/client/monitor/running-monitor';
import { printableLines } from '@weir/base/printable';
import { FileThread } from '@weir/watch/dashboard/file-thread';
import { commandOf, type CommandIo, optionLines, parserOf, untilStopped } from '../command.ts';
import { listenOf, searchOf } from '../running-options.ts';
import { CLASH_API, CLASH_LISTEN } from './specs.ts';

const CLASH_API_HELP = `weir clash-api, which serves a running Weir in the shape of mihomo's external controller

Usage: weir clash-api [options]

zashboard, metacubexd, yacd and clashctl show and steer Weir through it. It is a process of its own,
a client of Weir's API and control socket, and asks for a secret of its own: that of the API stays
here. Pages of other origins are refused but for those of --allow-origin; a dashboard of --ui needs
none.

Options:
${optionLines(CLASH_API.options)}`;

type ClashApiArguments = NonNullable<ReturnType<typeof parseClashApi>>;

export const parseClashApi = parserOf(CLASH_API, (values) => ({
  ...values,
  /** Origins as browsers send them. */
  origins: (values['allow-origin'] ?? []).map(originOf),
}));

/** Normalises an origin. @throws {UsageError} unless it is one that a browser could send */
function originOf(text: string): string {
  const url = URL.parse(text);
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (isWeb && (url.origin === text || url.href === text) && url.pathname === '/')
    return url.origin;
  throw new UsageError(
    `--allow-origin ${JSON.stringify(text)}: expected the scheme, host and port of a page, such as https://board.example`,
  );
}

/**
 * `weir clash-api`: serves until a signal stops it. Resolves with the exit status.
 * @throws {UsageError}
 */
export const clashApiCommand = commandOf(
  CLASH_API.name,
  CLASH_API_HELP,
  parseClashApi,
  async (given, io) => {
    const listen = await parseLocalListen(listenOf(given), CLASH_LISTEN);
    const written = await writtenSecret(given);
    // Only the user of the process can connect to a unix socket.
    const made = written === undefined && listen.kind === 'tcp' ? newToken() : undefined;
    // Lists of providers take seconds to read, in which everything else would wait.
    using files = new FileThread();
    await using served = await serve(given, { listen, secret: written ?? made }, files, io);
    io.stdout.write(greeting(served, made, given.ui !== undefined));
    await untilStopped();
    return 0;
  },
);

async function writtenSecret(given: ClashApiArguments): Promise<string | undefined> {
  const file = given['clash-secret-file'];
  return file === undefined ? undefined : readSecret(file, '--clash-secret-file');
}

async function serve(
  given: ClashApiArguments,
  place: Pick<Parameters<typeof startClashApi>[0], 'listen' | 'secret'>,
  files: FileThread,
  io: CommandIo,
): Promise<ServedClashApi> {
  const note = (text: string): void =>
    void io.stderr.write(`${printableLines(`weir clash-api: ${text}`)}\n`);
  const weir = await findRunning({ ...searchOf(given), env: io.env });
  if (weir.problem) note(weir.problem.message);
  if (weir.socket === undefined) {
    note(
      'no control socket: without balancers, delays, the log and the memory; --socket PATH names it',
    );
  }
  return startClashApi({
    ...place,
    weir,
    monitor: RunningMonitor.of(weir),
    origins: given.origins,
    ui: given.ui,
    updateSubscription: (name) => update(name, weir, files, io),
    note,
    onDefect: (error) => void io.stderr.write(`${defectText(error)}\n`),
  });
}

/** Updates one subscription, as `weir subscribe update` does. @throws {WeirError} */
async function update(
  name: string,
  { config, socket }: Pick<RunningWeir, 'config' | 'socket'>,
  files: FileThread,
  { env, stderr }: CommandIo,
): Promise<void> {
  if (config === undefined) throw new WeirError('no_configuration', 'the file is not known');
  const wanted = { path: config, names: [name], dryRun: false, force: false, socket, env };
  const { outcomes, applied } = await files.ask('update', wanted);
  stderr.write(applied);
  const error = outcomes[0]?.error;
  if (error) throw new WeirError('subscribe', error.message);
}

/** The lines for a user who connects a dashboard. @param made the secret, if it is newly generated */
function greeting(
  { url, address }: ServedClashApi,
  made: string | undefined,
  hasUi: boolean,
): string {
  const lines = [`controller on ${url ?? address}`];
  if (made !== undefined) lines.push(`secret: ${made}`);
  if (url !== undefined && hasUi) {
    const { hostname, port } = new URL(url);
    const query = new URLSearchParams({
      hostname,
      port,
      ...(made !== undefined && { secret: made }),
    });
    // The fragment stays in the browser.
    lines.push(`dashboard on ${url}/ui/#/setup?${query.toString()}`);
  }
  return `${lines.join('\n')}\n`;
}
