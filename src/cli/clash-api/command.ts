import { startClashApi, type ServedClashApi } from '../../clash-api/start.ts';
import { readSecret } from '../../client/api-client.ts';
import { findRunning, type RunningWeir } from '../../client/find-running.ts';
import { UsageError, WeirError } from '../../errors.ts';
import { parseLocalListen } from '../../local-http/listen.ts';
import { defectText } from '../../local-http/local-server.ts';
import { newToken } from '../../local-http/secret-check.ts';
import { RunningMonitor } from '../../monitor/running-monitor.ts';
import { printableLines } from '../../printable.ts';
import { updateTools } from '../../subscribe/update/update-tools.ts';
import { updateSources } from '../../subscribe/update/update.ts';
import { reportErrors, type CommandIo } from '../command.ts';
import { listenOf, searchOf } from '../running-options.ts';
import { untilStopped } from '../until-stopped.ts';
import {
  CLASH_API,
  CLASH_API_HELP,
  CLASH_LISTEN,
  parseClashApi,
  type ClashApiArguments,
} from './arguments.ts';

/**
 * `weir clash-api`: serves until a signal stops it. Resolves with the exit status.
 * @throws {UsageError}
 */
export async function clashApiCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const given = parseClashApi(argv);
  if (given.help === true) {
    io.stdout.write(CLASH_API_HELP);
    return 0;
  }
  return reportErrors(CLASH_API.name, io, async () => {
    const listen = await parseLocalListen(listenOf(given), CLASH_LISTEN);
    const written = await writtenSecret(given);
    // Only the user of the process can connect to a unix socket.
    const made = written === undefined && listen.kind === 'tcp' ? newToken() : undefined;
    await using served = await serve(given, { listen, secret: written ?? made }, io);
    io.stdout.write(greeting(served, made, given.ui !== undefined));
    await untilStopped();
    return 0;
  });
}

async function writtenSecret(given: ClashApiArguments): Promise<string | undefined> {
  const file = given['clash-secret-file'];
  if (file === undefined) return undefined;
  const secret = await readSecret(file);
  if (secret === '') throw new UsageError('the file of --clash-secret-file is empty');
  return secret;
}

async function serve(
  given: ClashApiArguments,
  place: Pick<Parameters<typeof startClashApi>[0], 'listen' | 'secret'>,
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
    updateSubscription: (name) => update(name, weir, io),
    note,
    onDefect: (error) => void io.stderr.write(`${defectText(error)}\n`),
  });
}

/** Updates one subscription, as `weir subscribe update` does. @throws {WeirError} */
async function update(
  name: string,
  { config, socket }: Pick<RunningWeir, 'config' | 'socket'>,
  io: CommandIo,
): Promise<void> {
  if (config === undefined) throw new WeirError('no_configuration', 'the file is not known');
  const request = { config, names: [name], ifDue: false, dryRun: false, force: false };
  const [outcome] = await updateSources(request, updateTools({ config, socket, io }));
  if (outcome?.error) throw outcome.error;
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
