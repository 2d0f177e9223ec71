import { loadConfigFile } from '../../app/loading/inline-runner.ts';
import { printableJson } from '../../printable.ts';
import type { Spec } from '../../spec.ts';
import { reportErrors, type CommandIo } from '../command.ts';
import { loadOrReport } from '../load.ts';
import { parseTun, TUN_HELP, type TunCheckArguments } from './arguments.ts';
import { checkTun, tunCheckText, unreadText } from './check-report.ts';

/**
 * `weir tun`. Resolves with the exit status: 1 if something breaks, or the machine could not be checked.
 * @throws {UsageError}
 */
export async function tunCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const asked = parseTun(argv);
  if (asked.kind === 'help') {
    io.stdout.write(TUN_HELP);
    return 0;
  }
  return reportErrors('tun check', io, async () => {
    const status = await loadOrReport(
      asked.config,
      {},
      (path, input) => loadConfigFile(path, { ...input, serveApi: false }),
      ({ spec }) => check(spec, asked, io),
    );
    return status ?? 1;
  });
}

async function check(spec: Spec, asked: TunCheckArguments, io: CommandIo): Promise<number> {
  const report = await checkTun(spec, asked.isGateway, io.env);
  io.stdout.write(asked.json ? `${printableJson(report)}\n` : tunCheckText(report));
  if (!asked.json) io.stderr.write(unreadText(report.unread));
  const all = report.inbounds.flatMap(({ findings }) => findings);
  return all.some(({ severity }) => severity === 'breaks') ? 1 : 0;
}
